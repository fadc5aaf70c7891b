import {RfaError} from '../../errors.js'
import {formatOf} from '../../inputs/files/formats.js'
import type {InputSpec} from '../../results/schemas/common.js'
import {packagedInput} from '../packaged-input.js'
import {GENERATOR_SHAPE} from './defaults.js'

/** The flags that say where queries, keys and values come from. */
export interface InputFlags {
  input?: readonly string[] | undefined
  generator?: string | undefined
  'query-name'?: string | undefined
  'key-name'?: string | undefined
  'value-name'?: string | undefined
  batch?: number | undefined
  heads?: number | undefined
  'head-dim'?: number | undefined
  'value-dim'?: number | undefined
  'key-len'?: number | undefined
}

/** Flags that make sense only with a file. */
const FILE_FLAGS = ['query-name', 'key-name', 'value-name'] as const
/** Flags that make sense only with a generator. */
const GENERATOR_FLAGS = ['batch', 'heads', 'head-dim', 'value-dim', 'key-len'] as const

/**
 * Files, a generator, or by default the packaged arrays of a trained model.
 *
 * @throws {USAGE} when the flags contradict each other or more than three files are named
 */
export function toInputSpec(flags: InputFlags): InputSpec {
  if (flags.generator !== undefined) return generatorSpec(flags.generator, flags)
  refuse(flags, GENERATOR_FLAGS, 'a generated input: a file has its own shape', 'add --generator')
  const paths = flags.input?.length ? [...flags.input] : [packagedInput()]
  const several = paths.length > 1
  if (
    paths.length === 2 ||
    paths.length > 3 ||
    (several && paths.some(path => formatOf(path) !== '.npy'))
  ) {
    throw new RfaError(
      'USAGE',
      `--input: expected one file, or three .npy files in the order query, key, value, got ${paths.join(', ')}`,
    )
  }
  return {
    kind: 'file',
    paths,
    names: {
      query: flags['query-name'] ?? 'q',
      key: flags['key-name'] ?? 'k',
      value: flags['value-name'] ?? 'v',
    },
  }
}

/** A generated input; what is not given comes from {@link GENERATOR_SHAPE}. */
function generatorSpec(name: string, flags: InputFlags): InputSpec {
  if (flags.input?.length) {
    throw new RfaError('USAGE', '--generator: expected no --input beside it, got both', {
      suggestions: ['leave one of them out'],
    })
  }
  refuse(flags, FILE_FLAGS, '--input: a generated input has no names', 'leave it out')
  const headDim = flags['head-dim'] ?? GENERATOR_SHAPE.headDim
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
