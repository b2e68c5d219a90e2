module github.com/machinist-dev/machinist/sdk/go

go 1.24.0
