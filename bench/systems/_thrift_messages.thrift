// The messages of bench/messages as structures, for thrift's option codec.

struct Record {
  1: i64 id,
  2: string user,
  3: string session,
  4: string region,
  5: double created,
  6: double amount,
  7: double score,
  8: i32 retries,
  9: i32 priority,
  10: bool active,
  11: string label,
  12: list<i32> shards,
}

struct Records {
  1: list<Record> records,
}

struct Item {
  1: i64 id,
  2: string name,
  3: i64 price,
  4: i32 quantity,
  5: list<string> tags,
  6: optional i64 total,
}

struct Items {
  1: i32 m,
  2: list<Item> items,
}

struct Node {
  1: string title,
  2: i32 version,
  3: optional double weight,
  4: optional bool open,
  5: optional list<Node> children,
}

struct Trees {
  1: list<Node> trees,
}

struct Numbers {
  1: list<double> numbers,
}

service Messages {
  Records record(1: Records message),
  Items items(1: Items message),
  Trees tree(1: Trees message),
  Numbers numbers(1: Numbers message),
}
