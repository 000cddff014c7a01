"""The values that programs record: datasets, fields, operations, schemas, problems."""
