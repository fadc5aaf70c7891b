/** The report as text. */
import {type Block, type ColumnSpec, table, text} from '../src/report/document.js'
import {bytes, nanoseconds, percent, ratio, significant} from '../src/report/numbers.js'
import {renderTerminal} from '../src/report/terminal.js'
import type {
  BackendRow,
  BackendStart,
  BackendsReport,
  ExperimentRow,
  ExperimentsReport,
  KernelRow,
  KernelsReport,
  Prediction,
  Spread,
  StartRow,
} from './report-schema.js'

/** Load average from which figures are to be doubted. */
const BUSY = 1

/** Wide enough for every table: what does not fit a terminal is no table any more. */
const LAYOUT = {width: 120, colour: false}

type Row<Part extends 'threads' | 'decode' | 'memory' | 'causal_over_bidirectional'> =
  KernelsReport[Part][number]

const KERNELS: readonly ColumnSpec<KernelRow>[] = [
  {title: 'kernel', align: 'left', cell: row => row.name},
  {title: 'L', cell: row => (row.length === undefined ? '' : `${row.length}`)},
  {title: 'native', cell: row => nanoseconds(row.native.min_ns)},
  {title: 'GFLOP/s', cell: row => (row.gflops === null ? '' : significant(row.gflops))},
  {title: '% of peak', cell: row => (row.peak_pct === null ? '' : percent(row.peak_pct))},
  {title: 'wasm', cell: row => timesOrNothing(row.wasm_over_native)},
]

const CAUSAL: readonly ColumnSpec<Row<'causal_over_bidirectional'>>[] = [
  {title: 'causal over bidirectional', align: 'left', cell: row => row.method},
  {title: 'L', cell: row => `${row.length}`},
  {title: 'time', cell: row => ratio(row.ratio)},
]

const THREADS: readonly ColumnSpec<Row<'threads'>>[] = [
  {title: 'two threads', align: 'left', cell: row => row.name},
  {title: 'one', cell: row => nanoseconds(row.one_ns)},
  {title: 'two', cell: row => nanoseconds(row.two_ns)},
  {title: 'speed-up', cell: row => ratio(row.speedup)},
]

const DECODE: readonly ColumnSpec<Row<'decode'>>[] = [
  {title: 'decode', align: 'left', cell: row => `${row.method} M=${row.num_features}`},
  {title: 'tokens', cell: row => `${row.tokens}`},
  {title: 'native', cell: row => nanoseconds(row.native.min_ns)},
  {title: 'than exact', cell: row => ratio(row.faster_than_exact)},
  {title: 'state', cell: row => bytes(row.state_bytes)},
  {title: '% of exact', cell: row => percent(100 * row.state_over_exact)},
]

const MEMORY: readonly ColumnSpec<Row<'memory'>>[] = [
  {title: 'peak memory over inputs and output', align: 'left', cell: row => row.method},
  {title: 'L', cell: row => `${row.seq_len}`},
  {title: 'form', cell: row => (row.causal ? 'causal' : 'bidirectional')},
  {title: 'memory', cell: row => bytes(row.peak_over_inputs_and_output_bytes)},
]

const PREDICTIONS: readonly ColumnSpec<Prediction>[] = [
  {title: 'plan', align: 'left', cell: row => row.name},
  {title: 'predicted', cell: row => bytes(row.predicted)},
  {title: 'measured', cell: row => bytes(row.measured)},
  {title: 'ratio', cell: row => ratio(row.predicted / row.measured)},
  {title: 'not completed', cell: row => notCompleted(row), tells: row => notCompleted(row) !== ''},
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

const BACKENDS: readonly ColumnSpec<BackendRow>[] = [
  {title: 'method', align: 'left', cell: row => `${row.method}${row.causal ? ' causal' : ''}`},
  {title: 'heads', cell: row => `${row.heads}`},
  {title: 'D', cell: row => `${row.head_dim}`},
  {title: 'M', cell: row => `${row.num_features}`},
  {title: 'L', cell: row => `${row.seq_len}`},
  {title: 'threads', cell: row => `${row.threads}`},
  {title: 'native', cell: row => nanoseconds(row.native?.min_ns ?? null)},
  {title: 'tensorflow', cell: row => nanoseconds(row.tensorflow?.min_ns ?? null)},
  {title: 'over native', cell: row => times(row.tensorflow, row.native)},
  {title: 'wasm', cell: row => nanoseconds(row.wasm?.min_ns ?? null)},
  {title: 'over tensorflow', cell: row => times(row.wasm, row.tensorflow)},
]

const BACKEND_STARTS: readonly ColumnSpec<BackendStart>[] = [
  {title: 'loading', align: 'left', cell: row => row.name},
  {title: 'time', cell: row => nanoseconds(row.ns)},
  {title: 'resident', cell: row => bytes(row.resident_bytes)},
]

/** How often a backend is the faster of two, and by how much at most. */
export function orderText(
  rows: readonly BackendRow[],
  first: 'native' | 'tensorflow',
  second: 'tensorflow' | 'wasm',
): string {
  const ratios = rows.flatMap(row => {
    const [own, other] = [row[first], row[second]]
    return own && other ? [other.min_ns / own.min_ns] : []
  })
  if (ratios.length === 0) return `${first} and ${second} did not both run.`
  const wins = ratios.filter(ratio => ratio > 1).length
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const counts = `${first} is faster than ${second} in ${wins} of ${ratios.length} cases`
  return `${counts}: ${timesOrNothing(least)} to ${timesOrNothing(most)}.`
}

/** How many times as long as the other a backend takes, where both ran. */
function times(own: Spread | null, other: Spread | null): string {
  return timesOrNothing(own && other && own.min_ns / other.min_ns)
}

/** The tables of the benchmark of backends. */
export function backendsText({machine, rows, starts, load_average: load}: BackendsReport): string {
  const sentences = [`${machine.cpu}. Times are the fastest of the rounds.`, ...busy(load.before)]
  const blocks = [
    ...sentences.map(text),
    ...tableOf(BACKENDS, rows),
    ...tableOf(BACKEND_STARTS, starts),
  ]
  return renderTerminal(blocks, LAYOUT)
}

/** The tables of the kernel benchmark. */
export function kernelsText(report: KernelsReport): string {
  const blocks: Block[] = [
    ...header(report),
    ...tableOf(KERNELS, report.kernels),
    ...tableOf(CAUSAL, report.causal_over_bidirectional),
    ...tableOf(THREADS, report.threads),
    ...tableOf(DECODE, report.decode),
    ...tableOf(MEMORY, report.memory),
  ]
  return renderTerminal(blocks, LAYOUT)
}

/** Predicted against measured memory. */
export function predictionsText(rows: readonly Prediction[]): string {
  return renderTerminal(tableOf(PREDICTIONS, rows), LAYOUT)
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

function notCompleted({what}: Prediction): string {
  return what === 'completed' ? '' : what
}
