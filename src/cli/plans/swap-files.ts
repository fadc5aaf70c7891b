/** What a swap reads, looked at while its plan is made. */
import {createHash} from 'node:crypto'
import {createReadStream} from 'node:fs'
import {readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {packagedFile} from '../../inputs/packaged.js'
import {openModel} from '../../model/index.js'
import type {SwapFiles, SwapFlags} from './swap.js'

/** Model and texts that are used where none are named, in the folder of packaged files. */
const [PACKAGED_MODEL, PACKAGED_TEXTS] = ['charlm', 'charlm/texts.txt']

/**
 * Facts and digests of the model and the texts that flags name.
 *
 * @throws what opening the model throws
 * @throws {FILE_MISSING | BAD_FILE} for texts that cannot be read, or a file without any
 */
export async function swapFiles(flags: Pick<SwapFlags, 'model' | 'texts'>): Promise<SwapFiles> {
  const folder = flags.model ?? packagedFile(PACKAGED_MODEL)
  const path = flags.texts ?? packagedFile(PACKAGED_TEXTS)
  const model = await openModel(folder)
  try {
    return {
      facts: model.facts,
      model: {folder, digest: await digestOf(folder)},
      texts: await textsOf(path),
    }
  } finally {
    await model.close()
  }
}

async function textsOf(path: string): Promise<SwapFiles['texts']> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw expected('FILE_MISSING', path, 'a file of texts, one a line', describeCause(cause))
  })
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .filter(line => line.trim() !== '').length
  if (lines === 0) throw expected('BAD_FILE', path, 'texts, one a line', 'an empty file')
  return {path, digest: createHash('sha256').update(bytes).digest('hex'), lines}
}

function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** SHA-256 of the files that make a model, in the order of their names. */
async function digestOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter(name => /\.(json|safetensors)$/.test(name)).sort()
  const hash = createHash('sha256')
  for (const name of names) {
    hash.update(`${name}\n`)
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk as Buffer)
  }
  return hash.digest('hex')
}
