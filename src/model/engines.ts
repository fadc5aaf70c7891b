/** What runs a pretrained model: this program, or Transformers in Python. */
import {RfaError} from '../errors.js'
import type {EngineChoice} from './engine-names.js'
import {type Model, openModel} from './index.js'
import {openTransformers, type TransformersModel, type TransformersOptions} from './transformers.js'

/** An open model with what runs it. */
export type Opened =
  | {native: Model; transformers?: undefined}
  | {native?: undefined; transformers: TransformersModel}

interface OpenOptions extends Pick<TransformersOptions, 'device' | 'threads'> {
  /** `auto`: this program where it can. */
  engine: EngineChoice
  /** Looks at a model of this program; where it throws `UNSUPPORTED`, Transformers may run the model. */
  look?: (model: Model) => Promise<void>
}

/** Opens a model. @throws {UNSUPPORTED} for a model that none of them runs */
export async function openByEngine(
  folder: string,
  {engine, look, ...options}: OpenOptions,
): Promise<Opened> {
  const own = engine === 'transformers' ? {} : await openNative(folder, engine, look)
  if (own.native) return {native: own.native}
  const transformers = await openTransformers(folder, options).catch((error: unknown) => {
    const isMissing = error instanceof RfaError && error.code === 'BACKEND_MISSING'
    throw isMissing && own.refused ? withRemedies(own.refused, error) : error
  })
  return {transformers}
}

/** A model that is run here, or why it is not and another engine may. @throws where no other could, or none is asked for */
async function openNative(
  folder: string,
  engine: 'auto' | 'native',
  look: OpenOptions['look'],
): Promise<{native?: Model; refused?: RfaError}> {
  try {
    const native = await openModel(folder)
    await look?.(native)
    return {native}
  } catch (error) {
    const refused = error instanceof RfaError && error.code === 'UNSUPPORTED'
    if (!refused || engine === 'native') throw error
    return {refused: error}
  }
}

/** What does not run here, with what would make it run. */
function withRemedies({code, message, suggestions}: RfaError, {suggestions: more}: RfaError) {
  return new RfaError(code, message, {suggestions: [...more, ...suggestions]})
}
