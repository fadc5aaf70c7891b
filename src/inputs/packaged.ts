import {basename, dirname, isAbsolute, join, relative, resolve} from 'node:path'
import {packageRoot} from '../package.js'

/** Folder of the package with arrays of trained models. `manifest.json` there says what they are. */
const FOLDER = 'fixtures'

/** The input used where none is named: the last layer of a pretrained sentence encoder, a padded batch. */
export const PACKAGED_INPUT = `${FOLDER}/minilm-layer5.safetensors`

/** The same where attention is asked to be causal, which the encoder never was: the first layer of a character model. */
export const PACKAGED_CAUSAL_INPUT = `${FOLDER}/charlm-layer0.safetensors`

/**
 * Path of a packaged file of arrays, relative to `from` where it lies below it, so that a plan made in a checkout is the
 * same on every machine.
 *
 * @param name - within its folder
 * @param from - default: the working directory
 */
export function packagedFile(name: string, from = process.cwd()): string {
  const path = join(packageRoot(), FOLDER, name)
  const short = relative(from, path)
  return short.startsWith('..') || isAbsolute(short) ? path : short
}

export function isPackaged(path: string): boolean {
  return dirname(resolve(path)) === join(packageRoot(), FOLDER)
}

/**
 * Path of {@link PACKAGED_INPUT}, or of {@link PACKAGED_CAUSAL_INPUT}, as {@link packagedFile} has it.
 *
 * @param causal - whether attention is to be causal
 * @param from - default: the working directory
 */
export function packagedInput(causal: boolean, from?: string): string {
  return packagedFile(basename(causal ? PACKAGED_CAUSAL_INPUT : PACKAGED_INPUT), from)
}
