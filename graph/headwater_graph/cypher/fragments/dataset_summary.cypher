// Compute the summary of a dataset `d` with its current version `v` (or null) as JSON (see `store/node_summary.py`): null if a
// text in it has control characters. Each optional member begins with a comma; the first comma is removed.
CASE WHEN any(text IN [v.external] + coalesce(d.owners, []) WHERE text =~ '(?s).*[\u0000-\u001f].*') THEN null ELSE
  '["dataset","' + d.key + '",["' + replace(replace(d.namespace, '\\', '\\\\'), '"', '\\"') + '","'
    + replace(replace(d.name, '\\', '\\\\'), '"', '\\"') + '"],'
    + CASE WHEN EXISTS { (d)-[:ALIAS_OF]-() } THEN 'true' ELSE 'false' END
    + ',[' + CASE WHEN d.dropped THEN '"dropped"' ELSE '' END + '],{'
    + substring(
        coalesce(',"version":"' + v.id + '"', '')
        + coalesce(',"writtenAt":"' + left(toString(v.at), 19) + '.' + substring(toString(1000000 + v.at.microsecond), 1) + 'Z' + '"', '')
        + coalesce(',"writtenBy":"' + replace(replace(v.madeBy, '\\', '\\\\'), '"', '\\"') + '"', '')
        + coalesce(',"external":"' + replace(replace(v.external, '\\', '\\\\'), '"', '\\"') + '"', '')
        + coalesce(
          ',"owners":[' + substring(reduce(names = '', owner IN d.owners | names + ',"' + replace(replace(owner, '\\', '\\\\'), '"', '\\"') + '"'), 1) + ']',
          ''
        ),
        1
      )
    + '}]'
END
