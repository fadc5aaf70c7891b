import {basename, dirname} from 'node:path'
import type {InputSpec} from './spec.js'

/** Folder of the package with the arrays of a small trained model, and its files. `manifest.json` there says what they are. */
const FOLDER = 'fixtures'
const LAYERS: readonly string[] = ['charlm-layer0.safetensors', 'charlm-layer3.safetensors']

/** The input used where none is named: queries, keys and values of the model's first layer. */
export const PACKAGED_INPUT = `${FOLDER}/${LAYERS[0]}`

/** Whether an input is a layer of the packaged model, which is causal. */
export function isPackagedLayer(input: InputSpec): boolean {
  if (input.kind !== 'file' || input.paths.length > 1) return false
  const [path = ''] = input.paths
  return LAYERS.includes(basename(path)) && basename(dirname(path)) === FOLDER
}
