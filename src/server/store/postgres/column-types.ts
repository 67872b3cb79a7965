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

/** Names and markers are compared by their bytes, whatever the language of the database is. */
const text = RawNode.createWithSql('text collate "C"');
/** Sizes and milliseconds are too long for `integer`. */
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
    // What stands behind a table tells SQLite how to store it.
    const { endModifiers: _, ...table } = super.transformCreateTable(node, queryId);
    return table;
  }

  protected override transformColumnDefinition(node: ColumnDefinitionNode, queryId?: QueryId): ColumnDefinitionNode {
    const { autoIncrement: isCounted = false, ...column } = super.transformColumnDefinition(node, queryId);
    return { ...column, dataType: chooseType(column.dataType, isCounted) };
  }
}

/** The tables as PostgreSQL has them: the steps of a migration say what SQLite makes of them. */
export function createColumnTypes(): KyselyPlugin {
  const transformer = new ColumnTypes();
  return {
    transformQuery: ({ node, queryId }) => transformer.transformNode(node, queryId),
    transformResult: async ({ result }) => result,
  };
}
