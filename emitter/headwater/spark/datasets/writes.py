"""The datasets that commands write or change: a table from a command's class to a rule."""

from __future__ import annotations

from dataclasses import replace

from ..plan import row_changes
from ..plan.model import PlanNode
from . import catalog_writes, delta_copies, table_writes
from .delta_copies import copied_from
from .table_writes import loaded_from
from .tables import PlanScope
from .written import WriteRule, Written


def writes(at: PlanScope, node: PlanNode) -> list[Written]:
    """Return the dataset that the command at ``node`` writes, creates, alters or drops; nothing for a query."""
    rule = _RULES.get(node.kind)
    found = None if rule is None else rule(at, node)
    if found is None:
        return []
    # The catalog has the version before the write; the new one is known at the end of the run.
    return [replace(found, dataset=found.dataset.without("version"))]


_RULES: dict[str, WriteRule] = {
    "InsertIntoHadoopFsRelationCommand": table_writes.insert_files,
    "InsertIntoHiveTable": table_writes.insert_hive,
    "InsertIntoHiveDirCommand": table_writes.insert_folder,
    "InsertIntoDataSourceDirCommand": table_writes.insert_folder,
    "InsertIntoDataSourceCommand": table_writes.insert_relation,
    "InsertIntoHoodieTableCommand": table_writes.insert_relation,
    "SaveIntoDataSourceCommand": table_writes.save_into_source,
    "CreateDataSourceTableCommand": table_writes.create,
    "CreateTableCommand": table_writes.create,
    "CreateHoodieTableCommand": table_writes.create,
    "CreateViewCommand": table_writes.create_view,
    "AlterViewAsCommand": table_writes.create_view,
    "CreateTableLikeCommand": table_writes.created_like,
    "LoadDataCommand": table_writes.loaded,
    "AlterTableRenameCommand": table_writes.renamed,
    "TruncateTableCommand": table_writes.truncated,
    "DropTableCommand": table_writes.dropped,
    "MergeIntoCommand": catalog_writes.delta_change(row_changes.merged),
    "UpdateCommand": catalog_writes.delta_change(row_changes.updated),
    "DeleteCommand": catalog_writes.delta_change(row_changes.deleted),
    "MergeIntoHoodieTableCommand": catalog_writes.hudi_change(row_changes.merged),
    "UpdateHoodieTableCommand": catalog_writes.hudi_change(row_changes.updated),
    "DeleteHoodieTableCommand": catalog_writes.hudi_change(row_changes.deleted),
    "RestoreTableCommand": delta_copies.restored,
    "CreateDeltaTableCommand": delta_copies.cloned,
    "CloneTableCommand": delta_copies.cloned,
    "DeleteFromTable": catalog_writes.v2_delete,
    "CreateTableAsSelect": catalog_writes.v2_create_as_select,
    "ReplaceTableAsSelect": catalog_writes.v2_create_as_select,
    "CreateTable": catalog_writes.v2_created,
    "ReplaceTable": catalog_writes.v2_created,
    "DropTable": catalog_writes.v2_change("DROP"),
    "DropView": catalog_writes.v2_change("DROP"),
    "TruncateTable": catalog_writes.v2_change("TRUNCATE"),
    "RenameTable": catalog_writes.v2_renamed,
    **dict.fromkeys(table_writes.CREATES_AS_SELECT, table_writes.create_as_select),
    **dict.fromkeys(
        (
            "AlterTableAddColumnsCommand", "AlterTableSetPropertiesCommand", "AlterTableUnsetPropertiesCommand",
            "AlterTableChangeColumnCommand", "AlterTableSetLocationCommand", "AlterTableAddPartitionCommand",
            "AlterTableDropPartitionCommand", "AlterTableRenamePartitionCommand", "AlterTableSerDePropertiesCommand",
        ),
        table_writes.altered,
    ),
    **dict.fromkeys(
        (
            "ReplaceData", "WriteDelta", "AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic",
            "DeltaDynamicPartitionOverwriteCommand",
        ),
        catalog_writes.v2_write,
    ),
    **dict.fromkeys(
        (
            "AddColumns", "AlterColumns", "AlterColumn", "DropColumns", "RenameColumn", "ReplaceColumns",
            "SetTableProperties", "UnsetTableProperties", "CommentOnTable",
        ),
        catalog_writes.v2_change("ALTER"),
    ),
}  # fmt: skip

__all__ = ["Written", "copied_from", "loaded_from", "writes"]
