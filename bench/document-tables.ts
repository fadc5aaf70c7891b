/** Tables of benchmarks in README and docs/performance.md, as Markdown. */
import {type Block, type ColumnSpec, table, text} from '../src/report/document.js'
import {renderMarkdown} from '../src/report/markdown.js'
import {MISSING, nanoseconds, plural, ratio, significant} from '../src/report/numbers.js'
import {wrap} from '../src/report/wrap.js'
import type {PeersReport} from './peers/report.js'
import {faster, fewestTable, shortTable, versionsOf} from './peers/table.js'
import type {ExperimentRow, ExperimentsReport, KernelRow, KernelsReport} from './report-schema.js'

/** What is shown of the kernels. */
const [LENGTH, METHODS] = [2048, ['softmax-online', 'favor-pos', 'rfa', 'elu']]

const KERNELS: readonly ColumnSpec<KernelRow>[] = [
  {title: 'kernel', align: 'left', cell: ({name}) => name},
  {title: 'time', cell: ({native}) => nanoseconds(native.min_ns)},
  {title: '% of peak', cell: ({peak_pct}) => significant(peak_pct, 2)},
  {title: 'over tfjs-wasm', cell: ({wasm_over_native: over}) => ratio(over)},
]

/** One length of the methods that the table of peers has, too. */
export function kernelsTable({kernels, ...made}: KernelsReport): string {
  const rows = kernels.filter(
    ({method = '', length}) => METHODS.includes(method) && length === LENGTH,
  )
  const peaks = rows.map(({fma_peak_gflops: peak}) => peak)
  return section(table(KERNELS, rows), [madeText(made, peaks)])
}

/** The short table of peers, and what they win. */
export function peersTable(report: PeersReport): string {
  const peaks = report.rows.flatMap(({fma_peak_gflops: peak}) => peak ?? [])
  const won = faster(report)
  const sentences = [
    madeText(report, peaks),
    `Peers: ${versionsOf(report)}.`,
    `Of ${plural(report.rows.length, 'case')} peers are faster in ${won.length}${won.length > 0 ? `: ${won.join('; ')}` : ''}.`,
  ]
  return section(shortTable(report), sentences)
}

/** The forward passes of the short table against frameworks. */
export function speedTable(report: PeersReport): string {
  return section(fewestTable(report), [madeText(report)])
}

const EXPERIMENTS: readonly ColumnSpec<ExperimentRow>[] = [
  {title: 'experiment', align: 'left', cell: ({name}) => name},
  {title: 'threads', cell: ({threads}) => String(threads)},
  {title: 'time', cell: ({rfa}) => seconds(rfa.min_s)},
  {title: 'over PyTorch', cell: ({torch_over_rfa: over}) => ratio(over)},
  {
    title: 'a replicate, over PyTorch',
    cell: ({replicate}) =>
      replicate ? `${seconds(replicate.rfa_s)}, ${ratio(replicate.ratio)}` : MISSING,
  },
  {title: 'command', cell: ({rfa_command}) => seconds(rfa_command.min_s)},
]

/** Whole experiments, and commands that start and end. */
export function experimentsTable({experiments, starts, ...made}: ExperimentsReport): string {
  const commands = starts.map(({name, command}) => `${name} ${seconds(command.min_s)}`)
  const sentences = [
    madeText(made),
    ...(commands.length > 0 ? [`From start to end: ${commands.join(', ')}.`] : []),
  ]
  return section(table(EXPERIMENTS, experiments), sentences)
}

/** Columns of a document's text. */
const WIDTH = 130

/** A table with what there is to say of it, in lines of a document. */
function section(rows: Block, sentences: readonly string[]): string {
  const below = renderMarkdown([text(sentences.join(' '))]).trimEnd()
  return [renderMarkdown([rows]), wrap(below, WIDTH).join('\n')].join('\n')
}

function seconds(value: number): string {
  return nanoseconds(1e9 * value)
}

type Made = Pick<KernelsReport, 'created_at' | 'machine'>

/** On what, when and of what. @param peaks - of single cases, in GFLOP/s for each thread */
function madeText({created_at, machine}: Made, peaks: readonly number[] = []): string {
  const {cpu, instruction_set: set, commit} = machine
  const ends = [...new Set([Math.min(...peaks), Math.max(...peaks)].map(peak => significant(peak)))]
  const peak = peaks.length > 0 ? `, measured peaks ${ends.join(' to ')} GFLOP/s` : ''
  const at = commit ? ` at commit ${commit}` : ''
  return `${cpu}${set ? ` (${set})` : ''}${peak}; ${created_at.slice(0, 10)}${at}.`
}
