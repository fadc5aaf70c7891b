/** The projections as a table. */
import {z} from 'zod'
import {PROJECTION_NAMES, projectionNamed, type RowLaw} from '../attention/names.js'
import {type Block, type ColumnSpec, factTable, heading, list, table, text} from './document.js'
import {MISSING} from './numbers.js'

export const projectionFactsSchema = z.object({
  name: z.string().describe('As `--projections` takes it.'),
  title: z.string().describe('How its rows are drawn.'),
  rows: z
    .enum(['normal', 'near-normal', 'sphere', 'padded-sphere', 'other'])
    .describe('Distribution of one row by itself.'),
  unbiased_for: z
    .enum(['softmax-kernel', 'smreg-kernel'])
    .nullable()
    .describe('The kernel that positive features estimate without bias with it; `null`: none.'),
  takes_orth_sign: z.boolean().describe('`--orth-sign` applies.'),
  released_by: z
    .string()
    .nullable()
    .describe('The released code that draws it so; `null`: papers say so.'),
  citation: z.string().describe('Where it was published.'),
})
export type ProjectionFacts = z.infer<typeof projectionFactsSchema>

const UNBIASED: Partial<Record<RowLaw, 'softmax-kernel' | 'smreg-kernel'>> = {
  normal: 'softmax-kernel',
  sphere: 'smreg-kernel',
}

export function projectionFacts(): ProjectionFacts[] {
  return PROJECTION_NAMES.map(name => {
    const {title, rows, takesOrthSign, releasedBy, citation} = projectionNamed(name)
    return {
      name,
      title,
      rows,
      unbiased_for: UNBIASED[rows] ?? null,
      takes_orth_sign: takesOrthSign ?? false,
      released_by: releasedBy ?? null,
      citation,
    }
  })
}

/** On narrow terminals the sources go first. */
const COLUMNS: readonly ColumnSpec<ProjectionFacts>[] = [
  {title: 'name', align: 'left', cell: ({name}) => name},
  {title: 'rows', flexible: true, cell: ({title}) => title},
  {title: 'one row is', align: 'left', cell: ({rows}) => rows},
  {
    title: 'unbiased for',
    align: 'left',
    priority: 1,
    cell: ({unbiased_for}) => unbiased_for ?? 'none',
  },
  {
    title: '--orth-sign',
    align: 'left',
    priority: 3,
    cell: ({takes_orth_sign}) => (takes_orth_sign ? 'yes' : 'no'),
  },
  {
    title: 'as released by',
    align: 'left',
    priority: 2,
    cell: ({released_by}) => released_by ?? MISSING,
  },
  {title: 'source', flexible: true, priority: 4, cell: ({citation}) => citation},
]

const UNBIASED_NOTE =
  'unbiased for: what positive features estimate without bias, uniform signs given; near-normal and padded-sphere rows have a bias, which grows with the norms.'

/** What positive features with a projection estimate, in words. */
const GROUPS: readonly (readonly [ProjectionFacts['unbiased_for'], string])[] = [
  ['softmax-kernel', 'unbiased for the softmax kernel'],
  ['smreg-kernel', 'unbiased for the regularised kernel'],
  [null, 'biased, more so at larger norms'],
]

/** The names of all projections by what positive features estimate with them. */
export function projectionsScreen(projections: readonly ProjectionFacts[]): Block[] {
  const rows = GROUPS.map(([kernel, title]) => ({
    title,
    names: projections.filter(one => one.unbiased_for === kernel).map(({name}) => name),
  }))
  return [
    table(
      [
        {title: 'positive features', flexible: true, cell: ({title}) => title},
        {title: 'projections', flexible: true, cell: ({names}) => names.join(', ')},
      ],
      rows,
    ),
    ...list([
      'iid draws independent rows; orth, the default of most methods, blocks of orthogonal ones',
      'one in full: rfa methods orth --projections; all: rfa methods --projections --details',
    ]),
  ]
}

export function projectionsReport(projections: readonly ProjectionFacts[]): Block[] {
  return [table(COLUMNS, projections), text(UNBIASED_NOTE)]
}

export function projectionReport(projection: ProjectionFacts): Block[] {
  const facts = COLUMNS.slice(2).map(({title, cell}) => [title, cell(projection)] as const)
  return [
    heading(1, `${projection.name}: ${projection.title}`),
    factTable(facts),
    text(UNBIASED_NOTE),
  ]
}
