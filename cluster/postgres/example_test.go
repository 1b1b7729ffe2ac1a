package postgres_test

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
)

// A change of a table under a lock of the same database. The check of the token is part of the transaction, so a holder
// that was paused past its time changes nothing.
func Example() {
	ctx := context.Background()
	url := os.Getenv("DATABASE_URL")
	engine, err := postgres.Open(url, postgres.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	if err := postgres.Migrate(ctx, engine); err != nil {
		log.Fatal(err)
	}
	db, err := pgxpool.New(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	locks := cluster.New(engine, cluster.Options{Label: "rebuild"})
	defer locks.Close()
	err = locks.WithLock(ctx, "routes", func(ctx context.Context, hold *cluster.Hold) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if err := engine.Guard(ctx, tx, hold.Name(), hold.Mode(), hold.Token()); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE routes SET generation = generation + 1")
			return err
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}

// Behind PgBouncer that gives out sessions by the transaction, in a schema of one's own.
func ExampleOpen() {
	engine, err := postgres.Open("postgres://app@pooler:6432/app?sslmode=require&xact=true&schema=app_locks", postgres.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}
