/** Shapes that `rfa bench` takes from a file of queries, keys and values. */
import {expected} from '../../errors.js'
import {headsText} from '../../experiments/bench/fields/grouped.js'
import {causalLabel, inputLabel} from '../../experiments/labels.js'
import type {InputSizes} from '../../inputs/input-facts.js'
import type {InputPart} from '../../inputs/input-parts.js'
import type {InputSpec} from '../../inputs/spec.js'
import {type FlagValues, fileList, inGroup} from '../flags/kinds.js'
import {arrayFlags, layoutFlag} from '../flags/shared.js'
import {toInputSpec, toLayers, withCausal} from './input-spec.js'
import type {InputListeners} from './variance-input.js'

/** Flags of the file that shapes are taken from: which keys take part is of no matter. */
const {'key-mask-name': _, ...arrays} = arrayFlags
export const benchInputFlags = inGroup('INPUT', {
  input: fileList({
    char: 'i',
    description:
      'take B, H, Hkv, D and Dv from a file of queries, keys and values, as error-sweep reads it, L where no --seq-len is typed, and --causal where its metadata say so. Only shapes: values are generated, as times of these kernels do not depend on them, and all keys take part',
  }),
  ...arrays,
  layout: layoutFlag,
})

/** Sizes that a file determines. */
const SIZES = ['batch', 'heads', 'kv-heads', 'head-dim', 'value-dim'] as const

const FILE_NAMES = Object.keys(benchInputFlags) as (keyof typeof benchInputFlags)[]

type FileFlags = FlagValues<typeof benchInputFlags>

/** What shapes depend on; of the sizes it matters only whether they were typed. */
type ShapeFlags = FileFlags &
  Partial<Record<(typeof SIZES)[number] | 'seq-len', unknown> & {causal: boolean; mode: string}>

/** Sizes of arrays in a file; keys and values may have fewer heads than queries. */
type FileSizes = InputSizes & {keyHeads: number}

/** Those that a benchmark is planned with, and whether the model ran causally. */
export type FileShape = FileSizes & {causal: boolean}

/**
 * The shapes in the header of a file; `undefined` where no file is named.
 *
 * @throws {USAGE} for sizes together with a file, and for names of arrays without one
 * @throws {SHAPE_MISMATCH} for layers of several shapes; without a typed length also for different numbers of keys
 * and queries
 */
export async function fileShape(
  flags: ShapeFlags,
  {note, warn}: InputListeners,
): Promise<FileShape | undefined> {
  if (flags.input === undefined) return requireNoneOf(flags)
  const typed = SIZES.find(name => flags[name] !== undefined)
  if (typed) {
    const what = 'no --input with it, as the file has sizes'
    throw expected('USAGE', `--${typed}`, what, 'both', 'leave one of them out')
  }
  const own = await withCausal(fileFlags(flags))
  const spec = toInputSpec(own)
  const {partsOf} = await import('../../inputs/input-parts.js')
  const {inputWarnings} = await import('../../inputs/input-facts.js')
  const {arrayNotes} = await import('../../inputs/other-arrays.js')
  for (const text of await arrayNotes(spec)) note(text)
  const parts = await partsOf(spec, toLayers(own))
  const {causal} = own
  // values are made, and as many keys as queries: which tokens the queries of the file are does not matter
  const corner = causal ? ({causalAlign: 'start'} as const) : {}
  const seenAs = {layer: parts[0]!.layer, causal, ...corner}
  for (const text of await inputWarnings(parts[0]!.input, seenAs)) warn(text)
  const sizes = await commonSizes(spec, parts, flags['seq-len'] === undefined)
  // a decode is causal whatever the file says
  const seen = flags.mode === 'decode' ? [] : [causalLabel(causal, flags.causal ? null : causal)]
  note(`shapes of ${inputLabel(spec)}: ${[sizesText(sizes), ...seen].join(', ')}`)
  return {...sizes, causal}
}

/** Nothing, as nothing is asked of a file. @throws {USAGE} where something is */
function requireNoneOf(flags: ShapeFlags): undefined {
  const idle = FILE_NAMES.find(name => flags[name] !== undefined)
  if (idle) throw expected('USAGE', `--${idle}`, '--input with it', 'none')
}

/** Those of the file alone: `--batch` and the like are sizes of generated inputs elsewhere. */
function fileFlags(flags: ShapeFlags): FileFlags & {causal?: boolean} {
  const names = [...FILE_NAMES, 'causal'] as const
  return Object.fromEntries(names.map(name => [name, flags[name]]))
}

/** Sizes that all layers have. @param wholeLength - whether their length is one of them */
async function commonSizes(
  spec: InputSpec,
  parts: readonly InputPart[],
  wholeLength: boolean,
): Promise<FileSizes> {
  const {inputFacts} = await import('../../inputs/input-facts.js')
  const all: FileSizes[] = []
  for (const {input, layer} of parts) {
    const {sizes, keyHeads} = await inputFacts(input, [null], {layer})
    all.push({...sizes[0]!, keyHeads})
  }
  const [first] = all
  const {queryLen, keyLen} = first!
  const texts = all.map(sizes => sizesText(sizes, wholeLength))
  const other = texts.findIndex(text => text !== texts[0])
  if (other > 0) {
    const got = [0, other].map(at => `${texts[at]} in layer ${parts[at]!.layer}`).join(', ')
    const remedy = `take those of one with \`layer: ${parts[0]!.layer}\``
    throw expected('SHAPE_MISMATCH', inputLabel(spec), 'layers of one shape', got, remedy)
  }
  if (wholeLength && queryLen !== keyLen) {
    const got = `${queryLen} queries and ${keyLen} keys`
    const remedy = 'say which lengths to time with `seqLen`'
    const what = 'equal numbers of keys and queries'
    throw expected('SHAPE_MISMATCH', inputLabel(spec), what, got, remedy)
  }
  return first!
}

/** `B=1 H=8 Hkv=2 D=64 Dv=64`, and its length, or both of them. */
function sizesText(sizes: FileSizes, withLength = true): string {
  const {batch, heads, keyHeads, queryLen, keyLen, headDim, valueDim} = sizes
  const lengths = `L=${queryLen}${keyLen === queryLen ? '' : ` S=${keyLen}`}`
  const own = `B=${batch} ${headsText({heads, kv_heads: keyHeads})} D=${headDim} Dv=${valueDim}`
  return withLength ? `${own} ${lengths}` : own
}
