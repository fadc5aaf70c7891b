/** The report as text. */
import {type Block, type ColumnSpec, table, text} from '../src/report/document.js'
import {nanoseconds, percent, ratio, significant} from '../src/report/numbers.js'
import {renderTerminal} from '../src/report/terminal.js'
import type {
  ExperimentRow,
  ExperimentsReport,
  KernelRow,
  KernelsReport,
  StartRow,
} from './report-schema.js'

/** Load average from which figures are to be doubted. */
const BUSY = 1

/** Wide enough for every table: what does not fit a terminal is no table any more. */
const LAYOUT = {width: 120, colour: false}

const KERNELS: readonly ColumnSpec<KernelRow>[] = [
  {title: 'kernel', align: 'left', cell: row => row.name},
  {title: 'L', cell: row => (row.length === undefined ? '' : `${row.length}`)},
  {title: 'native', cell: row => nanoseconds(row.native.min_ns)},
  {title: 'GFLOP/s', cell: row => (row.gflops === null ? '' : significant(row.gflops))},
  {title: '% of peak', cell: row => (row.peak_pct === null ? '' : percent(row.peak_pct))},
  {title: 'wasm', cell: row => timesOrNothing(row.wasm_over_native)},
]

const EXPERIMENTS: readonly ColumnSpec<ExperimentRow>[] = [
  {title: 'experiment', align: 'left', cell: row => row.name},
  {title: 'threads', cell: row => `${row.threads}`},
  {title: 'rfa', cell: row => nanoseconds(1e9 * row.rfa.min_s)},
  {title: 'torch', cell: row => (row.torch ? nanoseconds(1e9 * row.torch.min_s) : '')},
  {title: 'ratio', cell: row => timesOrNothing(row.torch_over_rfa)},
  {title: 'replicate', cell: row => (row.replicate ? nanoseconds(1e9 * row.replicate.rfa_s) : '')},
  {title: 'ratio', cell: row => timesOrNothing(row.replicate?.ratio ?? null)},
  {title: 'wanted', cell: row => `${ratio(row.wanted)} (${row.wanted_of})`},
  {title: 'rfa command', cell: row => nanoseconds(1e9 * row.rfa_command.min_s)},
  {
    title: 'torch command',
    cell: row => (row.torch_command ? nanoseconds(1e9 * row.torch_command.min_s) : ''),
  },
]

const STARTS: readonly ColumnSpec<StartRow>[] = [
  {title: 'command', align: 'left', cell: row => row.name},
  {title: 'fastest', cell: row => nanoseconds(1e9 * row.command.min_s)},
  {title: 'median', cell: row => nanoseconds(1e9 * row.command.median_s)},
]

/** The tables of the benchmark of experiments. */
export function experimentsText(report: ExperimentsReport): string {
  const {machine, backend, torch, load_average: load, experiments, starts} = report
  const peer = torch ? `PyTorch ${torch}` : 'PyTorch: not installed'
  const sentences = [
    `${machine.cpu}, ${backend.name}${backend.instructionSet ? ` (${backend.instructionSet})` : ''}. ${peer}.`,
    'Times are the fastest of the rounds, without the start of the process but for the commands.',
    ...busy(load.before),
  ]
  const blocks = [
    ...sentences.map(text),
    ...tableOf(EXPERIMENTS, experiments),
    ...tableOf(STARTS, starts),
  ]
  return renderTerminal(blocks, {...LAYOUT, width: 180})
}

/** The tables of the kernel benchmark. */
export function kernelsText(report: KernelsReport): string {
  const blocks: Block[] = [...header(report), ...tableOf(KERNELS, report.kernels)]
  return renderTerminal(blocks, LAYOUT)
}

/** Where and how it was measured, and what speaks against it. */
function header({machine, runtime, load_average: load}: KernelsReport): Block[] {
  const build = `${runtime.build} build by ${runtime.compiler}`
  const sentences = [
    `${machine.cpu}, ${runtime.isa}, ${build}, one thread.`,
    'Times are the fastest of the rounds; ratios are over native.',
  ]
  return [...sentences, ...busy(load.before)].map(text)
}

/** What a reader should know of a machine that does other things too. */
function busy(load: number): string[] {
  return load > BUSY ? [`Other programs were running: load ${load.toFixed(1)}.`] : []
}

function tableOf<R>(columns: readonly ColumnSpec<R>[], rows: readonly R[]): Block[] {
  return rows.length === 0 ? [] : [table(columns, rows)]
}

function timesOrNothing(value: number | null): string {
  return value === null ? '' : ratio(value)
}
