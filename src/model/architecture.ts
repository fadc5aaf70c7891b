/** What an architecture is, and what the readers of configurations share. */
import {z} from 'zod'
import type {DenseActivation} from '../attention/internal.js'
import {describe, expected, type RfaError} from '../errors.js'
import {ACTIVATION_NAMES, activationNamed} from './operations.js'
import type {Parts} from './parts.js'
import type {ModelShape} from './types.js'
import {EXPORT, type WeightNames} from './unread.js'
import type {Weights} from './weights.js'

/** What a configuration says, and what is made of weights that fit it. */
export interface Configured {
  facts: ModelShape
  parts(weights: Weights): Parts
}

export interface Architecture {
  /** `model_type` of its configurations. */
  types: readonly string[]
  /** Its classes, for configurations without `model_type`. */
  classes: RegExp
  weights: WeightNames
  /**
   * Reads a configuration.
   *
   * @throws {BAD_FILE} for fields that are missing or contradict each other
   * @throws {UNSUPPORTED} for what is not computed here, by its name
   */
  read(file: string, json: object): Configured
}

/** Facts, and what forward passes of every architecture need in addition. */
export interface ModelConfig {
  facts: ModelShape
  activation: DenseActivation
  /** Width between the two matrices of the feed-forward part. */
  innerWidth: number
  /** Added to the variance by norms. */
  normEpsilon: number
}

/** Fields of configurations. */
export const count = z.int().positive()
export const epsilon = z.number().nonnegative()

/** Facts of a model with a head of keys for each of queries. @param key - the field of the width, which heads divide */
export function evenHeads(
  file: string,
  key: string,
  facts: Omit<ModelShape, 'keyHeads' | 'headDim' | 'scale'>,
): ModelShape {
  const headDim = dividedBy(file, key, facts.width, facts.heads)
  return {...facts, keyHeads: facts.heads, headDim, scale: headDim ** -0.5}
}

/** @throws {UNSUPPORTED} for an activation that is not known */
export function activationOf(file: string, key: string, name: string): DenseActivation {
  const known = activationNamed(name)
  if (known) return known
  const what = `${key} of ${ACTIVATION_NAMES.join(', ')}`
  throw expected('UNSUPPORTED', file, what, describe(name))
}

/** What a configuration has that is not computed here. */
export function unsupported(file: string, what: string, got: string): RfaError {
  return expected('UNSUPPORTED', file, what, got, EXPORT)
}

/** @throws {BAD_FILE} for a rest */
export function dividedBy(file: string, key: string, size: number, parts: number): number {
  if (size % parts === 0) return size / parts
  throw expected('BAD_FILE', file, `${key} that ${parts} heads divide evenly`, String(size))
}
