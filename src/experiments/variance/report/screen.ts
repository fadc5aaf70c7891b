/** The first screen of a variance experiment: per method whether it is unbiased, as theory says, and what random matrices do. */
import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {fitted} from '../../../report/fit.js'
import {MISSING, plural, ratioRange, ratioWithInterval} from '../../../report/numbers.js'
import {fittedScreen, SCREEN_WIDTH, shownOf} from '../../../report/screen.js'
import {numbersListed} from '../../../report/words.js'
import {backendLabel} from '../../labels.js'
import {troubleSentences} from '../../trouble.js'
import {type CompletedVariance, mostDraws, type VarianceRecord} from '../schema.js'
import {effectOf, ratioText, varianceAnswers} from './answers.js'
import {type Judgement, judgeMethods, type MethodJudgement} from './verdicts.js'

/** Blocks of the first screen; nothing without records. */
export function varianceScreen(records: readonly VarianceRecord[]): Block[] {
  if (records.length === 0) return []
  const completed = records.filter(record => record.status === 'completed')
  const notes = troubleSentences(records)
  if (completed.length === 0) return [text('rfa variance: nothing was measured.'), ...list(notes)]
  const methods = judgeMethods(records)
  const ranked = methods.toSorted((a, b) => rankOf(a) - rankOf(b))
  const names = projectionsOf(methods)
  const legend = 'x: variance over that of iid rows at the same M (several pairs: lowest-highest).'
  return fittedScreen({
    title: heading(2, titleOf(completed)),
    answer: varianceAnswers(methods),
    rows: methods.length,
    table(shown) {
      const kept = new Set(ranked.slice(0, shown))
      const rows = methods.filter(method => kept.has(method))
      const {columns, count} = columnsThatFit(names, rows)
      const rest = shownOf({
        methods: [shown, methods.length],
        'random matrices': [count, names.length],
      })
      return {
        blocks: [table(columns, rows)],
        below: [...(names.length > 0 ? [legend] : []), ...rest],
      }
    },
    notes,
  })
}

/** Methods that something speaks against come first, then inconclusive ones. */
function rankOf({unbiased, theory, projections}: MethodJudgement): number {
  const answers = [unbiased, ...(theory ? [theory] : []), ...projections].map(
    ({verdict}) => verdict.answer,
  )
  if (answers.includes('no')) return 0
  return answers.includes('cannot_be_told') ? 1 : 2
}

function titleOf(records: readonly CompletedVariance[]): string {
  const cells = records.map(({cell}) => cell)
  const numbers = (of: (cell: CompletedVariance['cell']) => number) => [...new Set(cells.map(of))]
  const pairs = new Set(
    cells.map(({norm, key_norm, angle_deg, batch, head, query_index, key_index}) =>
      [norm, key_norm, angle_deg, batch, head, query_index, key_index].join(),
    ),
  )
  const {head, sum_norm} = cells[0]!
  const from =
    head !== undefined
      ? 'of an input'
      : sum_norm === undefined
        ? 'by norm and angle'
        : 'by sum and difference'
  const backends = new Set(records.map(({result}) => backendLabel(result).replace(/^backend /, '')))
  return [
    'rfa variance: kernel estimates',
    `D=${numbersListed(numbers(({head_dim}) => head_dim))}`,
    `M=${numbersListed(numbers(({num_features}) => num_features))}`,
    `${numbersListed(numbers(mostDraws))} draws`,
    `${plural(pairs.size, 'pair')} ${from}`,
    [...backends].join(' and '),
  ].join(', ')
}

/** Random matrices beside i.i.d. rows. */
function projectionsOf(methods: readonly MethodJudgement[]): string[] {
  const all = methods.flatMap(({projections}) =>
    projections.map(({verdict}) => verdict.projection ?? ''),
  )
  return [...new Set(all)]
}

function columnsThatFit(names: readonly string[], rows: readonly MethodJudgement[]) {
  for (let count = names.length; ; count--) {
    const columns = (flexible: boolean) => columnsOf(names.slice(0, count), flexible)
    const fit = fitted(table(columns(false), rows), SCREEN_WIDTH)
    if (count <= 1 || fit) return {columns: columns(true), count}
  }
}

function columnsOf(names: readonly string[], flexible: boolean): ColumnSpec<MethodJudgement>[] {
  return [
    {title: 'method', align: 'left', flexible, cell: ({method}) => method},
    {title: 'unbiased', align: 'left', cell: ({unbiased}) => countText(unbiased)},
    {
      title: 'variance as theory',
      short: {title: 'as theory'},
      align: 'left',
      cell: ({theory}) => (theory ? countText(theory) : MISSING),
      sparse: true,
    },
    ...names.map((name): ColumnSpec<MethodJudgement> => {
      const found = ({projections}: MethodJudgement) =>
        projections.find(({verdict}) => verdict.projection === name)
      return {
        title: `${name} helps`,
        align: 'left',
        cell: method => helpText(found(method), ratioWithInterval),
        short: {cell: method => helpText(found(method), ratioRange)},
      }
    }),
    {
      title: 'too few draws',
      align: 'left',
      cell: ({heavy, unbiased}) =>
        heavy.length === 0
          ? 'none'
          : `${heavy.length} of ${heavy.length + unbiased.seen.length + unbiased.verdict.without_variance}`,
      tells: ({heavy}) => heavy.length > 0,
    },
  ]
}

/** `yes, 5 of 5`: how many of the measured rows agree. */
function countText({verdict: {answer, measured, beyond}}: Judgement): string {
  if (measured === 0) return 'not measured'
  return `${answer === 'no' ? 'no' : 'yes'}, ${measured - beyond} of ${measured}`
}

function helpText(judgement: Judgement | undefined, form: typeof ratioRange): string {
  if (!judgement) return MISSING
  const effect = effectOf(judgement)
  return effect === 'not measured' ? effect : `${HELPS[effect]}, ${ratioText(judgement, form)}`
}

const HELPS = {lower: 'yes', raise: 'no', 'raise some': 'not always', inconclusive: 'inconclusive'}
