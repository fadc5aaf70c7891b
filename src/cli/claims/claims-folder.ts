/** What commands of several runs leave in a folder beside them: verdicts on claims, a figure, or advice. */
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import type {PlanRequest} from '../../claims/claim.js'
import {expected, type RfaError} from '../../errors.js'
import {errorCode, writeAtomic} from '../../files.js'
import {makeFolder, parseJson, requireRegularFile, unreadable} from '../../results/files.js'
import {parseWith, schemaOf, unknownSchema} from '../../results/journal/parse-record.js'
import {
  type AdviceDocument,
  adviceDocument,
  type ClaimsDocument,
  claimsDocument,
  type FigureDocument,
  figureDocument,
  type ModelAdviceDocument,
  modelAdviceDocument,
} from '../program/json-documents.js'

export type SavedDocument = ClaimsDocument | FigureDocument | AdviceDocument | ModelAdviceDocument
type Kind = SavedDocument['schema']

const FORMATS = {
  'rfa.claims/1': {file: 'claims.json', schema: claimsDocument, what: 'verdicts on claims'},
  'rfa.figure/1': {file: 'figure.json', schema: figureDocument, what: 'a figure'},
  'rfa.advice/1': {file: 'advise.json', schema: adviceDocument, what: 'advice'},
  'rfa.model-advice/2': {
    file: 'model-advice.json',
    schema: modelAdviceDocument,
    what: 'advice on a model',
  },
} as const

/**
 * The document of a folder, `undefined` where there is none.
 *
 * @throws {BAD_FILE} {UNKNOWN_SCHEMA} when it cannot be read
 */
export async function savedDocument(directory: string): Promise<SavedDocument | undefined> {
  for (const kind of Object.keys(FORMATS) as Kind[]) {
    const document = await readDocument(directory, kind)
    if (document) return document
  }
  return undefined
}

async function readDocument(directory: string, kind: Kind): Promise<SavedDocument | undefined> {
  const {file, schema, what} = FORMATS[kind]
  const path = join(directory, file)
  await requireRegularFile(path)
  const text = await readFile(path, 'utf8').catch(error => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw unreadable(path, error)
  })
  if (text === undefined) return undefined
  const value = parseJson(path, text)
  if (schemaOf(value) !== kind) throw unknownSchema(path, schemaOf(value), [kind])
  return parseWith<SavedDocument>(schema, value, path, what)
}

interface FolderRequest extends PlanRequest {
  directory: string
  resume: boolean
}

/**
 * The document to go on with, `undefined` where there is none. Draws of other seeds or of another effort are no part of
 * it.
 *
 * @throws {WOULD_OVERWRITE} where one is there and is not to be gone on with
 * @throws {PLAN_MISMATCH} where it was made otherwise
 */
export async function documentToGoOnWith<K extends Kind>(
  {directory, resume, effort, seed}: FolderRequest,
  kind: K,
): Promise<Extract<SavedDocument, {schema: K}> | undefined> {
  const saved = await savedDocument(directory)
  if (!saved) return undefined
  if (!resume) throw wouldOverwrite(directory, saved.schema)
  if (saved.schema !== kind) {
    throw mismatch(directory, FORMATS[kind].what, FORMATS[saved.schema].what)
  }
  if (saved.effort !== effort || saved.seed !== seed) {
    const asked = `effort ${effort} and seed ${seed}`
    const found = `${saved.effort} and ${saved.seed}`
    const flags = `${saved.effort === 'quick' ? '--quick ' : ''}--seed ${saved.seed}`
    throw mismatch(directory, asked, found, `continue it with ${flags}`)
  }
  return saved as Extract<SavedDocument, {schema: K}>
}

function wouldOverwrite(directory: string, kind: Kind): RfaError {
  const remedies = ['choose another folder', 'or continue it: --resume']
  return expected('WOULD_OVERWRITE', directory, 'no verdicts yet', FORMATS[kind].file, ...remedies)
}

function mismatch(directory: string, asked: string, found: string, ...remedies: string[]) {
  const all = [...remedies, 'choose another folder']
  return expected('PLAN_MISMATCH', directory, asked, found, ...all)
}

/** Saves a document and its tables. @throws {NOT_WRITABLE} */
export async function saveDocument(
  document: SavedDocument,
  tables: readonly {name: string; text: string}[],
): Promise<void> {
  const {directory, schema} = document
  await makeFolder(directory)
  for (const {name, text} of tables) await writeAtomic(join(directory, name), text)
  const text = `${JSON.stringify(document, null, 2)}\n`
  await writeAtomic(join(directory, FORMATS[schema].file), text)
}
