// Return what the dump lacks of all dataset versions. Times are microseconds since 1970.
// parameters: none
MATCH (v:DatasetVersion)
RETURN v.id AS id, v.dataset AS dataset, v.tie AS tie, v.drops AS drops, v.retained AS retained,
       v.at.epochMillis * 1000 + v.at.microsecond % 1000 AS at
