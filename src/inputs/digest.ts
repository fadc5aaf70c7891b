import {closeInput, digestOf, openInput} from './input-files.js'
import type {InputSpec} from './spec.js'

/**
 * Pins the files of an input to their present content, so that a run is never resumed, nor a record
 * mistaken for current, after the data changed. A generator needs no pin: its seed is in the plan.
 *
 * @returns the same input with `digest`, the SHA-256 of all files' bytes in order, in hex
 * @throws what {@link openInput} throws, before any file is read as a whole
 */
export async function pinInput(spec: InputSpec): Promise<InputSpec> {
  if (spec.kind !== 'file') return spec
  const files = await openInput(spec)
  try {
    return {...spec, digest: await digestOf(files)}
  } finally {
    await closeInput(files)
  }
}
