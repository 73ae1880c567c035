# What aiperf.yaml runs: URL CONNECTIONS DURATION RATE (0: a closed load). AIPerf reports into files, and wants a tokenizer.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s' '{"text": "Say a."}' > "$folder/prompts.jsonl"
printf '%s' '{"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "?"}' > "$folder/tokenizer_config.json"
printf '%s' '{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
  "model": {"type": "WordLevel", "vocab": {"?": 0, "a": 1}, "unk_token": "?"}}' > "$folder/tokenizer.json"
url=$1 connections=$2 duration=$3 rate=$4
set --
[ "$rate" = 0 ] || set -- --request-rate "$rate" --arrival-pattern constant
aiperf profile --model oracle --url "$url" --endpoint-type chat --streaming --tokenizer "$folder" \
  --input-file "$folder/prompts.jsonl" --custom-dataset-type single_turn --use-server-token-count \
  --concurrency "$connections" --benchmark-duration "$duration" --request-count 1000000 "$@" \
  --no-server-metrics --no-gpu-telemetry --ui none --artifact-dir "$folder/report" >&2
cat "$folder/report/profile_export_aiperf.json"
