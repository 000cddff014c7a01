// What `headwater doctor` queries: the server, the schema, the writer, how much deferred work there is, and which messages are lost.
// parameters: none
CALL dbms.components() YIELD name, versions, edition
WITH name + ' ' + versions[0] + ' ' + edition AS server LIMIT 1
OPTIONAL MATCH (schema:HeadwaterSchema)
OPTIONAL MATCH (writer:Writer {name: 'consumer'})
RETURN server, schema.version AS schema, writer.holder AS holder, writer.batch AS batch, toString(writer.at) AS at,
       COUNT { (:DeferredWork) } AS deferred_work, writer.losses AS losses
