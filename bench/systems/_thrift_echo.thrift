service Echo {
  binary call(1: binary data),
}
