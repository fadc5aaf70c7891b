import {describe, expected, RfaError} from '../../errors.js'
import {arrangementOf, wrongFiles} from '../../inputs/arrangement.js'
import {GENERATOR_NAMES, type GeneratorName} from '../../inputs/generators/index.js'
import {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT, packagedInput} from '../../inputs/packaged.js'
import type {InputSpec} from '../../inputs/spec.js'
import {type FlagValues, fileList, inGroup, numberList, oneName, oneNumber} from '../flags/kinds.js'
import {mergeValues, POSITIVE_INTEGER} from '../flags/ranges.js'
import {arrayFlags, layoutFlag} from '../flags/shared.js'

/** `--input` wins over these sizes; they matter only to `--generator`. */
export const GENERATOR_SHAPE = {batch: 1, heads: 4, headDim: 64, seqLen: 512}

const size = (description: string) =>
  oneNumber(POSITIVE_INTEGER)(`${description}; --generator only`)

/** Files that queries, keys and values come from. */
export const inputFlags = inGroup('INPUT', {
  input: fileList({
    char: 'i',
    description: `.npz or .safetensors file, several of them (layers, or texts of one layer: out/*.safetensors), .npy file of all three stacked, or three .npy files: query, key, value; a comma within a name takes a backslash before it (default: ${PACKAGED_INPUT} of the package, with --causal ${PACKAGED_CAUSAL_INPUT})`,
  }),
  ...arrayFlags,
  layout: layoutFlag,
})

/** What generates them instead. */
export const generatorFlags = inGroup('INPUT', {
  generator: oneName({generators: GENERATOR_NAMES})(
    `generate the input: ${GENERATOR_NAMES.join(', ')}`,
  ),
  batch: size(`batch B (default: ${GENERATOR_SHAPE.batch})`),
  heads: size(`heads H (default: ${GENERATOR_SHAPE.heads})`),
  'head-dim': numberList(POSITIVE_INTEGER)(
    `head dimensions D (default: ${GENERATOR_SHAPE.headDim}); --generator only`,
  ),
  'value-dim': size('value dimension Dv (default: D)'),
  'key-len': size('keys S (default: as many as queries)'),
})

/** The flags that say where queries, keys and values come from. */
export type InputFlags = Partial<
  FlagValues<typeof inputFlags & typeof generatorFlags> & {causal: boolean}
>

/** Flags once it is known whether attention is causal. */
export type WithCausal<Flags> = Omit<Flags, 'causal'> & {causal: boolean}

/**
 * The flags with what the file of the input says of a causal mask, where none of them does.
 *
 * @throws {USAGE | BAD_OPTION | FILE_MISSING | BAD_FILE | ARRAY_MISSING} when the file cannot be asked
 */
export async function withCausal<Flags extends InputFlags>(
  flags: Flags,
): Promise<WithCausal<Flags>> {
  if (flags.causal !== undefined) return {...flags, causal: flags.causal}
  const {causalOf} = await import('../../inputs/input-parts.js')
  return {...flags, causal: await causalOf(toInputSpec(flags), toLayers(flags))}
}

/** Flags that make sense only with a file. */
const FILE_FLAGS = [
  ...['layer', 'query-name', 'key-name', 'value-name', 'key-mask-name'],
  ...['layout'],
] as readonly (keyof InputFlags)[]
/** Flags that make sense only with a generator. */
const GENERATOR_FLAGS = ['batch', 'heads', 'head-dim', 'value-dim', 'key-len'] as const

/**
 * Files, a generator, or by default packaged arrays of a trained model; of a causal one where that is asked for.
 *
 * @throws {USAGE} when the flags contradict each other or the files make no input
 */
export function toInputSpec(flags: InputFlags): InputSpec {
  if (flags.generator !== undefined) return generatorSpec(flags.generator, flags)
  refuse(flags, GENERATOR_FLAGS, 'a generated input: a file has its own shape', 'add --generator')
  const paths = flags.input?.length ? [...flags.input] : [packagedInput(flags.causal ?? false)]
  if (!arrangementOf(paths)) throw wrongFiles('USAGE', '--input', paths)
  const keyMask = flags['key-mask-name']
  return {
    kind: 'file',
    paths,
    names: {
      query: flags['query-name'] ?? 'q',
      key: flags['key-name'] ?? 'k',
      value: flags['value-name'] ?? 'v',
      ...(keyMask !== undefined && {key_mask: keyMask}),
    },
    ...(flags.layout !== undefined && {layout: flags.layout}),
  }
}

/** The layers of `--layer`, each once; `undefined` where none were named. */
export function toLayers({layer}: Pick<InputFlags, 'layer'>): 'all' | number[] | undefined {
  if (!layer?.length) return undefined
  if (layer.includes('all')) return 'all'
  return mergeValues(layer as readonly (readonly number[])[], '--layer')
}

/** A generated input; what is not given comes from {@link GENERATOR_SHAPE}. */
function generatorSpec(name: GeneratorName, flags: InputFlags): InputSpec {
  if (flags.input?.length) {
    throw expected('USAGE', '--generator', 'no --input beside it', 'both', 'leave one of them out')
  }
  refuse(
    flags,
    FILE_FLAGS,
    '--input: a generated input has neither names, layers nor another layout',
    'leave it out',
  )
  const [headDim = GENERATOR_SHAPE.headDim, ...others] = headDimsOf(flags)
  if (others.length > 0 && flags['value-dim'] !== undefined) {
    const one = 'one head dimension beside --value-dim'
    throw expected('USAGE', '--head-dim', one, describe([headDim, ...others]), VALUES_FOLLOW)
  }
  return {
    kind: 'generator',
    name,
    batch: flags.batch ?? GENERATOR_SHAPE.batch,
    heads: flags.heads ?? GENERATOR_SHAPE.heads,
    head_dim: headDim,
    value_dim: flags['value-dim'] ?? headDim,
    key_len: flags['key-len'] ?? null,
  }
}

const VALUES_FOLLOW = 'leave --value-dim out: values then have the dimension of queries and keys'

function headDimsOf({'head-dim': dims}: InputFlags): number[] {
  return dims === undefined ? [] : mergeValues(dims, '--head-dim')
}

export function toHeadDims(flags: InputFlags): number[] | undefined {
  const dims = headDimsOf(flags)
  return dims.length > 1 ? dims : undefined
}

/** Refuses flags that belong to the other kind of input: ignoring them would mislead. */
function refuse(
  flags: InputFlags,
  names: readonly (keyof InputFlags)[],
  owner: string,
  suggestion: string,
): void {
  const given = names.find(name => flags[name] !== undefined)
  if (given === undefined) return
  throw new RfaError('USAGE', `--${given}: expected only with ${owner}`, {
    suggestions: [suggestion],
  })
}
