/** How plans, cells and records are called in tables and lists. */
import type {CausalView} from '../causal-view.js'
import {filesText} from '../inputs/arrangement.js'
import {axesOf} from '../inputs/layout.js'
import type {InputSpec} from '../inputs/spec.js'
import {plural} from '../report/numbers.js'
import type {CellRecord, ComputedBy} from '../results/record.js'
import {type DrawPoint, drawMarks, type MethodSpec} from './axes.js'

/**
 * An estimator with what makes it differ from its exact form: `rfa (noahs-ark, tau=0.5)`; with learned parameters
 * `rfa (tau=0.5, tuned)`.
 */
export function methodLabel({method, preset, options, tuned}: MethodSpec): string {
  const extras = Object.entries(options).map(([name, value]) => `${name}=${value}`)
  const own = preset === 'exact' ? [] : [preset]
  const marks = [...own, ...extras, ...(tuned ? ['tuned'] : [])]
  return marks.length > 0 ? `${method} (${marks.join(', ')})` : method
}

/** A projection with what makes its draw differ from the ordinary one, such as its signs: `orth (raw signs)`. */
export function projectionLabel(draw: Omit<DrawPoint, 'num_features'>): string | null {
  const marks = drawMarks(draw)
  return marks.length > 0 ? `${draw.projection} (${marks.join(', ')})` : draw.projection
}

/**
 * A cell in one line, with all that distinguishes it from others of its length: `favor-pos orth (raw signs) M=64`.
 *
 * @param marks - more to say, before M
 */
export function variantLabel(cell: MethodSpec & DrawPoint, marks: readonly string[] = []): string {
  const {num_features} = cell
  const drawn = projectionLabel(cell)
  const features = num_features === null ? [] : [`M=${num_features}`]
  return [methodLabel(cell), ...(drawn === null ? [] : [drawn]), ...marks, ...features].join(' ')
}

/**
 * What computed, as far as the record knows: `backend native (avx2), 2 threads`, or where cells ran side by side
 * `backend native (avx2), 2 processes of 1 thread each`.
 */
export function backendLabel({backend, instruction_set, threads, processes}: ComputedBy): string {
  const set = instruction_set === null ? '' : ` (${instruction_set})`
  const name = `backend ${backend}${set}`
  if (threads === null) return name
  const each = plural(threads, 'thread')
  if (processes === null || processes === 1) return `${name}, ${each}`
  return `${name}, ${processes} processes of ${each} each`
}

/** What computed these results: one item per backend, as far as there are any. */
export function backendItems(records: readonly {result: ComputedBy}[]): string[] {
  return [...new Set(records.map(({result}) => backendLabel(result)))]
}

/** Where an input comes from: file names with a layout other than the default; or the generator. */
export function inputLabel(input: InputSpec): string {
  if (input.kind === 'generator') return `generated ${input.name}`
  const files = filesText(input.paths)
  return input.layout === undefined ? files : `${files} as ${axesOf(input.layout)}`
}

/** Where several parts of an input come from: one label for all, or how many files there are. */
export function inputsLabel(inputs: readonly InputSpec[]): string {
  const labels = [...new Set(inputs.map(inputLabel))]
  if (labels.length === 1) return labels[0]!
  const paths = inputs.flatMap(input => (input.kind === 'file' ? input.paths : []))
  const isFiles = inputs.every(({kind}) => kind === 'file')
  return plural(isFiles ? new Set(paths).size : labels.length, isFiles ? 'file' : 'input')
}

/**
 * `causal` or `bidirectional`, with why where a file says something of it: `causal (as the file says)`,
 * `bidirectional (--no-causal)`.
 *
 * @param ranCausal - whether the model ran so; `null`: unknown
 */
export function causalLabel(causal: boolean, ranCausal: boolean | null): string {
  if (causal === ranCausal) return causal ? 'causal (as the file says)' : 'bidirectional'
  if (ranCausal === null) return causal ? 'causal' : 'bidirectional'
  return causal ? 'causal (--causal)' : 'bidirectional (--no-causal)'
}

/** ` (queries are the last 8 of 24 tokens)`; nothing where it makes no difference. */
export function cornerText(
  {queryLen, keyLen}: {queryLen: number; keyLen: number},
  {causal, causalAlign}: CausalView,
): string {
  if (!causal || causalAlign === undefined || queryLen >= keyLen) return ''
  return ` (queries are the ${causalAlign === 'end' ? 'last' : 'first'} ${queryLen} of ${keyLen} tokens)`
}

/** One line per reason why cells were skipped or failed, with the methods and how many cells. */
export function troubleItems(records: readonly CellRecord<MethodSpec>[]): string[] {
  const groups = new Map<string, {methods: Set<string>; cells: number}>()
  for (const record of records) {
    if (record.status === 'completed') continue
    const reason =
      record.status === 'skipped' ? record.reason : `${record.error.message} (${record.error.code})`
    const key = `${record.status}: ${reason}`
    const group = groups.get(key) ?? {methods: new Set(), cells: 0}
    group.methods.add(methodLabel(record.cell))
    group.cells++
    groups.set(key, group)
  }
  return [...groups].map(
    ([reason, {methods, cells}]) =>
      `${[...methods].join(', ')} ${reason} [${plural(cells, 'cell')}]`,
  )
}
