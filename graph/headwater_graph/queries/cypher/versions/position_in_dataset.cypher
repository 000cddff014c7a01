// The position of a version among those of its dataset; none for a version without a moment.
// parameters: dataset, id
MATCH (v:DatasetVersion {id: $id})
WHERE v.dataset = $dataset AND v.moment IS NOT NULL AND v.tie IS NOT NULL
RETURN v.moment AS moment, v.tie AS tie
