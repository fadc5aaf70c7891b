import {basename} from 'node:path'
import {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT, packagedFile} from '../../inputs/packaged.js'

export {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT}

/**
 * Path of {@link PACKAGED_INPUT}, or of {@link PACKAGED_CAUSAL_INPUT}, as {@link packagedFile} has it.
 *
 * @param causal - whether attention is to be causal
 * @param from - default: the working directory
 */
export function packagedInput(causal: boolean, from?: string): string {
  return packagedFile(basename(causal ? PACKAGED_CAUSAL_INPUT : PACKAGED_INPUT), from)
}
