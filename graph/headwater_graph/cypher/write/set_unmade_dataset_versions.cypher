// Take from versions what made them: nobody writes them any more. They go when nobody reads them.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
  USING INDEX SEEK v:DatasetVersion(id)
SET v += {moment: null, tie: null, at: null, madeBy: null, text: null, external: null, externalKey: null, drops: null}
WITH v
MATCH (v)<-[e:WROTE]-()
DELETE e
