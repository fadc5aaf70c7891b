/** The report as text. */
import {type Block, type ColumnSpec, table, text} from '../src/report/document.js'
import {nanoseconds, percent, ratio, significant} from '../src/report/numbers.js'
import {renderTerminal} from '../src/report/terminal.js'
import {rowsText} from './calibrate/rows.js'
import type {ExperimentsReport, KernelRow, KernelsReport} from './report-schema.js'

/** Load average from which figures are to be doubted. */
const BUSY = 1

/** Wide enough for every table: a table that is too wide turns into a list. */
const LAYOUT = {width: 120, colour: false}

const KERNELS: readonly ColumnSpec<KernelRow>[] = [
  {title: 'kernel', align: 'left', cell: row => row.name},
  {title: 'L', cell: row => (row.length === undefined ? '' : `${row.length}`)},
  {title: 'native', cell: row => nanoseconds(row.native.min_ns)},
  {title: 'GFLOP/s', cell: row => (row.gflops === null ? '' : significant(row.gflops))},
  {title: '% of peak', cell: row => (row.peak_pct === null ? '' : percent(row.peak_pct))},
  {title: 'wasm', cell: row => timesOrNothing(row.wasm_over_native)},
]

/** The tables of the benchmark of experiments, in seconds. */
export function experimentsText(report: ExperimentsReport): string {
  const {machine, backend, torch, load_average: load, experiments, forwards, starts} = report
  const peer = torch ? `PyTorch ${torch}` : 'PyTorch: not installed'
  const sentences = [
    `${machine.cpu}, ${backend.name}${backend.instructionSet ? ` (${backend.instructionSet})` : ''}. ${peer}.`,
    'Times are the fastest of the rounds, in seconds, without the start of the process but for the commands.',
    ...busy(load.before),
  ]
  const rows = experiments.map(({name, threads, rfa, torch, replicate, ...row}) => ({
    ...{experiment: name, threads, rfa: rfa.min_s, torch: torch?.min_s ?? null},
    ...{ratio: row.torch_over_rfa, replicate: replicate?.rfa_s ?? null},
    ...{'its ratio': replicate?.ratio ?? null, wanted: `${row.wanted} (${row.wanted_of})`},
    'rfa command': row.rfa_command.min_s,
    'torch command': row.torch_command?.min_s ?? null,
  }))
  const commands = starts.map(({name, command}) => ({
    ...{command: name, fastest: command.min_s, median: command.median_s},
  }))
  const models = forwards.map(({name, threads, rfa, torch_eager, torch_sdpa, ...row}) => ({
    ...{model: name, threads, rfa: rfa.min_s, eager: torch_eager.min_s, sdpa: torch_sdpa.min_s},
    ...{'eager/rfa': row.eager_over_rfa, 'sdpa/rfa': row.sdpa_over_rfa, apart: row.difference},
  }))
  return [
    ...sentences,
    ...[rows, models, commands].filter(({length}) => length > 0).map(rowsText),
  ].join('\n\n')
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
