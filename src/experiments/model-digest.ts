/** The files of a model, by a digest from which a run knows that they are the same. */
import {createHash} from 'node:crypto'
import {join} from 'node:path'
import {openFile} from '../inputs/files/source.js'
import {modelFiles} from '../model/index.js'

/** Bytes that are read at once. */
const PIECE = 2 ** 22

/** SHA-256 of the files that a model is read from, in the order of their names. @param engine - what reads it */
export async function modelDigest(folder: string, engine?: 'transformers'): Promise<string> {
  const hash = createHash('sha256')
  for (const name of await modelFiles(folder, engine)) {
    hash.update(`${name}\n`)
    const source = await openFile(join(folder, name))
    try {
      for (let at = 0; at < source.size; at += PIECE) {
        hash.update(await source.read(at, Math.min(PIECE, source.size - at)))
      }
    } finally {
      await source.close()
    }
  }
  return hash.digest('hex')
}
