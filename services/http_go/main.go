// An HTTP server by net/http that returns what is posted to /echo: server PORT.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
)

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", echo)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], mux))
}
