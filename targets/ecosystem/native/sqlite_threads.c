// One connection that two threads use, as the serialised mode allows.
#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>

static sqlite3 *database;

static void *insert(void *arg) {
    (void)arg;
    assert(sqlite3_exec(database, "insert into t values (1)", NULL, NULL, NULL) == SQLITE_OK);
    return NULL;
}

int main(void) {
    assert(sqlite3_open_v2(":memory:", &database,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL) == SQLITE_OK);
    assert(sqlite3_exec(database, "create table t (x)", NULL, NULL, NULL) == SQLITE_OK);
    pthread_t thread;
    pthread_create(&thread, NULL, insert, NULL);
    insert(NULL);
    pthread_join(thread, NULL);
    sqlite3_stmt *statement;
    assert(sqlite3_prepare_v2(database, "select sum(x) from t", -1, &statement, NULL) == SQLITE_OK);
    assert(sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 2);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return 0;
}
