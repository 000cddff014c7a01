// Return all JobEvents.
// parameters: none
MATCH (e:JobEvent)
RETURN e.text AS text
