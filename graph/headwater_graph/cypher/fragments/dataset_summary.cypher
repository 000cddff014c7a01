// What an answer shows of a dataset `d` with its current version `v` (or null), as JSON (see glances.py); null where a text in
// it has characters that would have to be escaped in other ways than quotes. Members begin with a comma, the first is cut off.
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
