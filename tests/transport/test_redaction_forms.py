"""The forms of secrets in texts, and what only resembles them; texts of any size."""

from __future__ import annotations

import re

import pytest

from headwater.transport.redaction import Redaction
from headwater.transport.redaction.names import Secrecy, secrecy

# Invented, and assembled here so that nothing in this file has the form of a real key.
HIDDEN = "hunter2Xq9"
LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
AWS_ID = "AKIA" + "ABCDEFGH12345678"
AWS_SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY12"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl"
PEM = "-----BEGIN {0}PRIVATE KEY-----\n" + LONG + "/+\n" + LONG + "==\n-----END {0}PRIVATE KEY-----"

FORMS = [
    # values of secret-like names
    "password: {}",
    "password = {}",
    "password={}",
    "secret={}",
    "secret = {}",
    "Password:{}",
    "db:\n  user: admin\n  password: {}\n",
    "[db]\nuser = admin\npass = {}\n",
    "token: {}",
    "api_key: {}",
    "client_secret = {}",
    "aws_secret_access_key = {}",
    "fs.s3a.secret.key={}",
    "connecting failed with user=etl, password = {} on db1",
    "password => {}",
    "password := {}",
    "password = '{}'",
    'password: "{}"',
    'password = b"{}"',
    'password = """{}"""',
    'pwd = "a\\"{}"',
    "{{'password': '{}'}}",
    '{{"password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    'conf["password"] = "{}"',
    'spark.read.option("password", "{}").load()',
    '.config("spark.hadoop.fs.s3a.secret.key", "{}")',
    "password == '{}'",
    "<password>{}</password>",
    "<property><name>fs.s3a.secret.key</name><value>{}</value></property>",
    "password='{}",
    # environment variables
    "PGPASS={}",
    "PGPASSWORD={} psql -h db",
    "export MYTOKEN={}",
    "CREDS={}",
    "TOKEN_GITHUB={}",
    "DB_PASS: {}",
    "SNOWSQL_PWD={}",
    # command lines
    "curl -u admin:{} https://api.example.com/x",
    "curl --user 'admin:{}' https://api.example.com/x",
    "curl -s -uadmin:{} https://h/x",
    "mysql -uroot -p{} shop",
    "mysqldump -h db -p'{}' shop > x.sql",
    "sshpass -p {} ssh db",
    "redis-cli -h r -a {} ping",
    "job --db-password {} --day 1",
    "keytool -storepass {} -list",
    "curl -H 'X-Api-Key: {}' https://h/x",
    "curl -H 'Authorization: Bearer {}' https://h/x",
    # addresses
    "https://user:{}@h/x",
    "https://{}@github.com/o/r.git",
    "https://x-access-token:{}@github.com/o/r.git",
    "postgres://u:{}@h:5432/d",
    "redis://:{}@h",
    "jdbc:postgresql://h/d?user=a&password={}&ssl=true",
    "jdbc:oracle:thin:scott/{}@h:1521/x",
    "AccountName=a;AccountKey={};EndpointSuffix=x",
    # SQL
    "ALTER ROLE x PASSWORD $${}$$",
    "ALTER ROLE x PASSWORD $x${}$x$ LOGIN",
    "CREATE USER x WITH PASSWORD '{}'",
    "CREATE USER x IDENTIFIED BY {}",
    "CREATE USER x IDENTIFIED WITH sha256_password BY '{}'",
    "SET PASSWORD FOR 'x' = '{}'",
    "CREATE STAGE s CREDENTIALS = (AWS_KEY_ID = 'x' AWS_SECRET_KEY = '{}')",
    # headers
    "Authorization: Basic {}",
    "Proxy-Authorization: Bearer {}",
    "authorization: {}",
    "got Bearer {} there",
]

TOKENS = [
    "github_pat_11ABCDEFG0" + LONG,
    *(f"gh{kind}_{LONG}" for kind in "pousr"),
    "glpat-" + LONG[:20],
    "sk-" + LONG,
    "sk-proj-" + LONG,
    "sk_live_" + LONG,
    "AIza" + LONG[:35],
    "ya29." + LONG,
    "xoxb-" + "123456789012-" + LONG,
    "xoxp-" + "123456789012-" + LONG,
    "dapi" + "0123456789abcdef" * 2,
    "npm_" + LONG,
    AWS_ID,
    JWT,
    PEM.format(""),
    PEM.format("RSA "),
    PEM.format("OPENSSH "),
    PEM.format("EC ").replace("\n", "\\n"),
]

NEAR_MISSES = [
    "SELECT password_hash, token_count FROM users",
    "SELECT * FROM shots WHERE pass = 3",
    "SELECT * FROM shots WHERE pass=3 AND token = 12",
    "SELECT a.token, b.secret FROM a JOIN b ON a.token = b.token",
    "SELECT * FROM a JOIN b ON a.secret = b.secret AND a.password=b.password",
    "SELECT token AS t, password AS p FROM users",
    "UPDATE users SET password = crypt(:new, gen_salt('bf'))",
    "SELECT * FROM users WHERE password IS NULL",
    "SELECT * FROM users WHERE password = :password",
    "SELECT * FROM users WHERE password = ?",
    "SELECT * FROM users WHERE token = %s",
    "CREATE TABLE users (id INT, password VARCHAR(20), token TEXT)",
    "struct<id:int,password:string,token:string>",
    "root\n |-- password: string (nullable = true)\n |-- token: binary (nullable = true)",
    "def connect(user: str, password: str | None = None) -> None: ...",
    "CREATE FUNCTION f() RETURNS int AS $$ SELECT 1 $$ LANGUAGE sql",
    "CREATE FUNCTION token() RETURNS text AS $$ SELECT current_user $$ LANGUAGE sql",
    "author: x",
    "author = 'x'",
    "secretary: Miller",
    "secretary = 'Miller'",
    "passenger = 'x'",
    "passed: 12",
    "pass_rate: 0.98",
    "bypass=true",
    "compass = north",
    "tokenizer = 'bpe'",
    "max_tokens = 512",
    "token_count = 500",
    "token_type: bearer",
    "token_url=https://idp/x",
    "password_file: /run/secrets/db",
    "secret_name = 'prod/db'",
    "password = os.environ['PGPASSWORD']",
    "password = getpass()",
    "token = tokenizer.next()",
    "password=${DB_PASSWORD}",
    "password: {{ var.value.db_password }}",
    "password: null",
    "unexpected token: SELECT",
    "mismatched input, token = FROM",
    "https://example.com/a/b?x=1",
    "https://alice@example.com/repo.git",
    "s3://bucket/key=1/part-0000.parquet",
    "abfss://container1234567890@account.dfs.core.windows.net/x",
    "mailto:someone@example.com",
    "git@github.com:o/r.git",
    "the task-runner risk-free-rate-of-2024-is-low",
    "disk-usage-of-the-last-24-hours-in-eu-west-1",
    "sk-learn-pipeline-for-churn",
    "mysql --port 3306 --protocol tcp",
    "primary_key: id",
    "sort_key = created_at",
    "key=value",
    "signature: (a, b) -> c",
    "assigned: Miller",
    "design = blue",
    "df.select('password', 'email')",
    "the bearer of this message",
    "identified as stale",
    "daily_token_report",
    "AKIAlice",
    "eyJustAWord.and.another",
]


@pytest.mark.parametrize("form", FORMS)
def test_secrets_are_found_in_their_context(form: str) -> None:
    redaction = Redaction()
    text = form.format(HIDDEN)
    clean = redaction.text(text)
    assert HIDDEN not in clean
    # Only the secret is replaced: the text around it is unchanged.
    assert "***" in clean
    assert clean.split("***")[0] == text[: clean.index("***")]
    assert text.endswith(clean.rpartition("***")[2])
    assert redaction.suspects(text.encode())
    assert redaction.text(clean) == clean


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("around", ["{}", "got {} there", '"{}"', "a={}&b=1", "x\n{}\ny"])
def test_tokens_are_recognised_by_their_form(token: str, around: str) -> None:
    text = around.format(token)
    assert Redaction().suspects(text.encode())
    clean = Redaction().text(text)
    assert clean == around.format("***") or clean == around.format(token[:2] + "***")


def test_webhooks_and_pairs_of_keys() -> None:
    redaction = Redaction()
    hook = "https://hooks.slack.com/services/"
    assert redaction.text(f"post to {hook}T00000000/B00000000/{LONG}.") == f"post to {hook}***."
    assert redaction.text(f"{AWS_ID}:{AWS_SECRET}") == "***"


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert Redaction().text(text) == text


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len(FORMS) + len(TOKENS) >= 57
    assert len(NEAR_MISSES) >= 40


def test_names_of_columns_jobs_and_checks_stay() -> None:
    event = {
        "job": {"namespace": "secret", "name": "password=1"},
        "facets": {
            "schema": {"fields": [{"name": "password_hash", "type": "string"}, {"name": "token_count", "type": "int"}]},
            "checks": {"pass": 10, "fail": 2, "passed": 9, "token_count": 7, "pass_rate": 0.5},
            "tags": [{"key": "token_type", "value": "bearer"}, {"name": "author", "value": "x"}],
        },
    }
    assert Redaction().redact(event) == (event, 0)


@pytest.mark.parametrize(
    "name", ["PGPASS", "PGPASSWORD", "MYTOKEN", "CREDS", "DBCREDS", "TOKEN_X", "PASS_DB", "CREDS_X", "apiKey2"]
)
def test_environment_variables_with_secrets(name: str) -> None:
    variables = [{"name": name, "value": HIDDEN}]
    assert Redaction().redact({"v": variables}) == ({"v": [{"name": name, "value": "***"}]}, 1)


@pytest.mark.parametrize(
    "name", ["compass", "secretary", "author", "token_count", "passenger", "bypass", "HOME", "tokens", ""]
)
def test_names_that_are_not_names_of_secrets(name: str) -> None:
    assert secrecy(name) is Secrecy.NONE


BAITS = [
    "-",
    "=",
    "- ",
    "-- =================================================================================================\n",
    "---------------------------------------------------------------------------------------------------\n",
    "a",
    "a.",
    "a_",
    "pass",
    "passw",
    "token ",
    "token: ",
    "sig=",
    "_key",
    "://",
    "://a:",
    "x://a:",
    "x://a@",
    "password=",
    "password='",
    "password = '",
    "password='\\",
    "password=''",
    '\\"password\\":',
    "password $$",
    "<password>",
    "</name><value>",
    "identified by ",
    "authorization: ",
    "bearer ",
    "oracle:thin:a/",
    "curl -u ",
    "curl -u a:",
    "mysql -p",
    "eyJ",
    "eyJaaaaaaaaaaa.",
    "AKIA",
    "ghp_",
    "sk-",
    "sk-a",
    "xoxb-",
    "hooks.slack.com/services/",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "--token ",
    "'",
    '"',
    "\\",
    "@",
    ":",
    "İpass",
    "password for a = ",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("bait", BAITS)
def test_texts_of_megabytes(bait: str) -> None:
    text = bait * (1_000_000 // len(bait)) + "\npassword = " + HIDDEN
    assert len(Redaction().text(text)) <= len(text) + 3 * text.count(bait)


@pytest.mark.timeout(120)
def test_a_secret_at_the_end_of_five_megabytes_of_rulers() -> None:
    text = ("-- " + "=" * 97 + "\n" + "-" * 99 + "\n") * 25_000 + "password = " + HIDDEN
    assert Redaction().text(text).endswith("\npassword = ***")


def test_letters_that_become_longer_in_lower_case_move_nothing() -> None:
    assert len("İ".lower()) == 2
    assert Redaction().text("İİİ password=x y") == "İİİ password=*** y"


def test_every_hint_of_a_rule_is_searched() -> None:
    from headwater.transport.redaction import text as secret_text

    for hint in (*secret_text.NAME_HINTS, *(hint for hint, _, _ in secret_text._RULES), *secret_text._COMMANDS):
        sample = hint + ("@" if hint == "://" else " -p")
        assert secret_text.may_have_secrets(sample), hint
    assert re.fullmatch(r"\w+", HIDDEN)
