/** The file of learned parameters that a plan names, as its cells use it. */
import {describe, expected} from '../errors.js'
import {fileChanged} from '../inputs/files/recorded-source.js'
import {readTuned} from './file.js'
import type {TunedSpec} from './spec.js'
import {hasLearnedRows, type TunedFile} from './types.js'

/** What plans say of a file that was read. */
export function tunedSpecOf({path, digest, ...tuned}: TunedFile): TunedSpec {
  const {projection, numFeatures: num_features, layers} = tuned
  const draws = hasLearnedRows(tuned) ? Math.min(...layers.map(({sets}) => sets.length)) : null
  return {path, digest, projection, num_features, draws}
}

/** Calls that parameters are wanted for. */
export interface TunedUse {
  method: string
  /** M; absent: it does not matter. */
  numFeatures?: number | null | undefined
}

/** Refuses parameters of another method or another M. @throws {BAD_OPTION} */
export function assertTunedFor(
  {path, method, numFeatures}: Pick<TunedFile, 'path' | 'method' | 'numFeatures'>,
  wanted: TunedUse,
): void {
  if (method !== wanted.method) {
    const hint = `ask for ${method}, or tune ${wanted.method}`
    throw expected('BAD_OPTION', path, `parameters of ${wanted.method}`, `those of ${method}`, hint)
  }
  if (wanted.numFeatures === undefined || numFeatures === wanted.numFeatures) return
  const [own, asked] = [numFeatures, wanted.numFeatures].map(count => describe(count))
  const hint = numFeatures === null ? 'tune again' : `ask for M=${own}, or tune with M=${asked}`
  throw expected('BAD_OPTION', path, `parameters for M=${asked}`, `those for M=${own}`, hint)
}

let last: {digest: string; file: TunedFile} | undefined

/**
 * The file of a plan, kept until another one is asked for.
 *
 * @throws {FILE_CHANGED} where it is not the file that the plan was made with
 * @throws {BAD_OPTION} as {@link assertTunedFor}
 */
export async function openTuned(
  {path, digest}: Pick<TunedSpec, 'path' | 'digest'>,
  use: TunedUse,
): Promise<TunedFile> {
  const file = last?.digest === digest ? last.file : await readTuned(path)
  if (file.digest !== digest) throw fileChanged(path)
  last = {digest, file}
  assertTunedFor(file, use)
  return file
}
