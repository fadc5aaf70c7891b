/** Files in which a run keeps how far it is: weights and running means as arrays, the rest as text. */
import {mkdir, rm} from 'node:fs/promises'
import {dirname} from 'node:path'
import {z} from 'zod'
import {RfaError} from '../../../errors.js'
import {errorCode} from '../../../files.js'
import {readArrays, writeArrays} from '../../../inputs/files/index.js'
import {type NdArray, toFloat32} from '../../../inputs/nd-array.js'
import type {Optimiser, OptimiserState} from '../../../model/trained/index.js'
import {curvePoint} from '../schema.js'

/** What a run has besides its weights. */
const progress = z.object({
  taken: z.int(),
  seconds: z.number(),
  losses: z.number(),
  curve: z.array(curvePoint),
})
export type Progress = z.output<typeof progress>

/**
 * Keeps where a run is. A place that refuses the file ends no run: its record will not fit there either, and says so.
 *
 * @param path - .safetensors, in a folder that is made where the folder around it is there
 */
export async function keep(path: string, optimiser: Optimiser, own: Progress): Promise<void> {
  const {arrays} = optimiser.state()
  const stored = Object.entries(arrays).map(([name, {shape, data}]): [string, NdArray] => [
    name,
    {dtype: 'float32', shape, data},
  ])
  try {
    await mkdir(dirname(path)).catch(error => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    await writeArrays(path, Object.fromEntries(stored), {progress: JSON.stringify(own)})
  } catch (error) {
    if (!(error instanceof RfaError) && errorCode(error) === undefined) throw error
  }
}

/**
 * Goes on from the state that was kept.
 *
 * @returns how far that run was; `undefined` where none was kept, or what is there is no state of these weights
 */
export async function goOn(path: string, optimiser: Optimiser): Promise<Progress | undefined> {
  const file = await readArrays(path).catch(error => {
    if (error instanceof RfaError) return undefined
    throw error
  })
  if (!file) return undefined
  const {progress: text} = file.metadata
  const own = progress.safeParse(parsed(text))
  const fits = Object.entries(optimiser.state().arrays).every(
    ([name, {shape}]) => file.arrays.get(name)?.shape.join() === shape.join(),
  )
  if (!own.success || !fits) {
    await rm(path, {force: true})
    return undefined
  }
  const arrays: OptimiserState['arrays'] = {}
  for (const [name, array] of file.arrays) {
    arrays[name] = {shape: [...array.shape], data: toFloat32(array)}
  }
  optimiser.restore({steps: own.data.taken, arrays})
  return own.data
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}
