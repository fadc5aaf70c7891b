import {extname} from 'node:path'
import {expected} from '../../errors.js'

/** Formats of files of arrays, by extension. */
export const ARRAY_EXTENSIONS = ['.npy', '.npz', '.safetensors'] as const
export type ArrayExtension = (typeof ARRAY_EXTENSIONS)[number]

/** The format of a file by its extension, in any case; `undefined` for one without arrays. */
export function formatOf(path: string): ArrayExtension | undefined {
  const extension = extname(path).toLowerCase()
  return ARRAY_EXTENSIONS.find(candidate => candidate === extension)
}

/** The format of a file by its extension, in any case. @throws {BAD_FILE} for other extensions */
export function arrayExtension(path: string): ArrayExtension {
  const format = formatOf(path)
  if (format !== undefined) return format
  const got = extname(path).toLowerCase() || 'no extension'
  throw expected('BAD_FILE', path, `one of the formats ${ARRAY_EXTENSIONS.join(', ')}`, got)
}
