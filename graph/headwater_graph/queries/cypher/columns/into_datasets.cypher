// The column edges into the fields of some datasets.
// parameters: keys, rows
UNWIND $keys AS at
MATCH (:Dataset {key: at})<-[:FIELD_OF]-(f:Field)<-[e:DERIVES]-(g:Field)
WITH at, f, e, g LIMIT $rows
RETURN collect({
  at: at, field: f.name, namespace: g.namespace, dataset: g.dataset, name: g.name,
  type: e.type, subtype: e.subtype, description: e.description
}) AS rows
