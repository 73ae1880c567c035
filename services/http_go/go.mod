module http_go

go 1.24
