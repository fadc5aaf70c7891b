/** Which files an input may be. */
import {expected, type RfaError, type RfaErrorCode} from '../errors.js'
import {formatOf} from './files/formats.js'

/** `named`: three arrays of one file. `stacked`: one array of all three. `three`: a file for each. */
export type Arrangement = 'named' | 'stacked' | 'three'

/** How arrays lie in files of these names; `undefined` where they make no input. */
export function arrangementOf(paths: readonly string[]): Arrangement | undefined {
  const npy = paths.map(path => formatOf(path) === '.npy')
  if (paths.length === 1) return npy[0] ? 'stacked' : 'named'
  return paths.length === 3 && npy.every(Boolean) ? 'three' : undefined
}

/** Error of files that make no input. @param where - what named them */
export function wrongFiles(code: RfaErrorCode, where: string, paths: readonly string[]): RfaError {
  const named = paths.every(path => ['.npz', '.safetensors'].includes(formatOf(path) ?? ''))
  const remedies = named
    ? [
        'rfa_export writes all layers into one: capture(..., one_file=True)',
        'run once for each file',
      ]
    : ['write a backslash before a comma that belongs to the name of a file']
  return expected(
    code,
    where,
    'one file, or three .npy files in the order query, key, value',
    `${paths.length} files: ${paths.join(', ')}`,
    ...remedies,
  )
}
