import {
  DataTypeNode,
  OperationNodeTransformer,
  RawNode,
  type ColumnDefinitionNode,
  type CreateTableNode,
  type KyselyPlugin,
  type OperationNode,
  type QueryId,
} from 'kysely';

/** Names and markers are compared by their bytes, whatever the locale of the database. */
const text = RawNode.createWithSql('text collate "C"');
/** Sizes and milliseconds do not fit into `integer`. */
const integer = DataTypeNode.create('bigint');
const counted = DataTypeNode.create('bigserial');
const bytes = DataTypeNode.create('bytea');

function chooseType(type: OperationNode, isCounted: boolean): OperationNode {
  if (!DataTypeNode.is(type)) return type;
  if (type.dataType === 'text') return text;
  if (type.dataType === 'blob') return bytes;
  if (type.dataType !== 'integer') return type;
  return isCounted ? counted : integer;
}

class ColumnTypes extends OperationNodeTransformer {
  protected override transformCreateTable(node: CreateTableNode, queryId?: QueryId): CreateTableNode {
    // The modifiers after a table definition apply to SQLite only.
    const { endModifiers: _, ...table } = super.transformCreateTable(node, queryId);
    return table;
  }

  protected override transformColumnDefinition(node: ColumnDefinitionNode, queryId?: QueryId): ColumnDefinitionNode {
    const { autoIncrement: isCounted = false, ...column } = super.transformColumnDefinition(node, queryId);
    return { ...column, dataType: chooseType(column.dataType, isCounted) };
  }
}

/** Adapts table definitions to PostgreSQL: migration steps are written for SQLite. */
export function createColumnTypes(): KyselyPlugin {
  const transformer = new ColumnTypes();
  return {
    transformQuery: ({ node, queryId }) => transformer.transformNode(node, queryId),
    transformResult: async ({ result }) => result,
  };
}
