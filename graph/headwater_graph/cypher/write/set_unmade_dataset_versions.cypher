// Set dataset versions to have no maker, as no run writes them any more; they are deleted when no run reads them.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
  USING INDEX SEEK v:DatasetVersion(id)
SET v += {moment: null, tie: null, at: null, madeBy: null, text: null, external: null, externalKey: null, drops: null}
WITH v
MATCH (v)<-[e:WROTE]-()
DELETE e
