import {describe, expect, it} from 'vitest'
import {z} from 'zod'
import {allExperiments} from '../../../../src/experiments/index.js'
import type {CellRecord} from '../../../../src/results/record.js'
import {cellValue, columnsOf} from '../../../../src/results/tables/columns.js'
import {plainCsv} from '../../../../src/results/tables/csv.js'

/** As much of a JSON Schema as values are made from. */
interface Node {
  properties?: Record<string, Node>
  additionalProperties?: Node | boolean
  anyOf?: Node[]
  oneOf?: Node[]
  items?: Node
  enum?: unknown[]
  const?: unknown
  type?: string
}

/** A value with everything that the schema knows: no list is empty, nothing is null. */
function filled(node: Node): unknown {
  const alternatives = node.anyOf ?? node.oneOf
  if (alternatives) return filled(alternatives.find(({type}) => type !== 'null')!)
  if (node.const !== undefined) return node.const
  if (node.enum) return node.enum[0]
  if (node.items) return [filled(node.items), filled(node.items)]
  if (node.properties) {
    return Object.fromEntries(
      Object.entries(node.properties).map(([name, child]) => [name, filled(child)]),
    )
  }
  if (typeof node.additionalProperties === 'object') return {one: filled(node.additionalProperties)}
  if (node.type === 'string') return 'text'
  return node.type === 'boolean' ? true : 1
}

describe.each((await allExperiments()).map(own => [own.name, own] as const))(
  'the tables of %s',
  (_, experiment) => {
    const record = filled(z.toJSONSchema(experiment.record) as Node) as CellRecord
    it.each(experiment.tables.map((table, at) => [table.suffix || '(first)', at] as const))(
      'have texts, numbers and lists of them in %s',
      (_, at) => {
        const table = experiment.tables[at]!
        const columns = table.columns()
        expect(record.status).toBe('completed')
        const rows = table.rows(record)
        expect(rows.length).toBeGreaterThan(0)
        for (const row of rows) {
          const texts = columns.map(column => String(cellValue(column, row)))
          // JSON is what a value with parts comes to: no column of an experiment wants that
          expect(texts.filter(text => /object|[{[]/.test(text))).toEqual([])
        }
      },
    )
  },
)

describe('columns', () => {
  const part = z.object({a: z.number(), b: z.array(z.number())})
  const lists = {
    plain: z.array(part),
    nullable: z.array(part).nullable(),
    absent: z.array(part).nullable().default(null),
    optional: z.array(part).optional(),
    nested: z.array(z.array(part)),
    either: z.union([z.array(part), z.string()]),
  }

  it.each(Object.entries(lists))('leave a list of objects to other tables: %s', (name, list) => {
    const names = columnsOf(z.object({[name]: list, kept: z.number()})).map(own => own.name)
    expect(names.filter(own => own !== name || name !== 'either')).toEqual(['kept'])
  })

  it('join the items of a list that may be null by semicolons', () => {
    const schema = z.object({layers: z.array(z.number()).nullable().default(null)})
    const csv = plainCsv(columnsOf(schema), [{layers: [0, 2]}, {layers: null}])
    expect(csv).toBe('layers\n"0;2"\n\n')
  })

  it('show as JSON what no column was made for', () => {
    const schema = z.object({
      any: z.unknown(),
      items: z.array(z.unknown()),
      pairs: z.record(z.string(), z.unknown()),
    })
    const row = {any: {a: 1}, items: [{a: 1}, [2, 3], null, 'x'], pairs: {p: {a: 1}, q: 2}}
    const values = columnsOf(schema).map(column => cellValue(column, row))
    expect(values).toEqual(['{"a":1}', '{"a":1};[2,3];;x', 'p={"a":1};q=2'])
  })
})
