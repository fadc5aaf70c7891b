/** Why a plug-in could not be loaded, with the author's file and line. */
import {spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {basename, dirname, extname} from 'node:path'
import {authorLine} from '../attention/internal.js'
import {clipped, expected, messageOf, RfaError} from '../errors.js'
import {errorCode} from '../files.js'

/**
 * @param path - as it was given
 * @param error - what importing it threw
 * @param files - the module and those that it imports, as far as they are known
 */
export function loadFault(path: string, error: unknown, files: readonly string[]): RfaError {
  const line = authorLine(error)
  const at = line === undefined ? '' : ` (${line})`
  if (error instanceof RfaError) {
    const {code, message, suggestions} = error
    if (code === 'NOT_WRITABLE') return error // no folder for temporary files: no fault of the plug-in
    return new RfaError(code, `${path}: ${message}${at}`, {suggestions, cause: error})
  }
  const code = errorCode(error)
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?ts\b/.test(messageOf(error))) {
    const got = `TypeScript, which Node ${process.versions.node} does not`
    const remedy = 'use Node 22.18 or later, which strips the types'
    const other = 'compile it first: npx tsc --module nodenext --outDir . FILE.ts'
    return expected('BAD_PLUGIN', path, 'a module that this Node runs', got, remedy, other)
  }
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
    const what = 'imports that can be found'
    const remedy = `install packages where it stands: npm install --prefix ${dirname(path)} NAME`
    const other = 'files are imported with their endings: ./helpers.js'
    return expected('BAD_PLUGIN', path, what, clipped(messageOf(error)), remedy, other)
  }
  if (error instanceof SyntaxError) return syntaxFault(path, error, files)
  const kind = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  return new RfaError(
    'PLUGIN_FAILED',
    `${path}: threw ${kind}${clipped(messageOf(error))} while it was loaded${at}`,
    {cause: error},
  )
}

/** A fault of the language: in one of the files, or in that Node takes the module for CommonJS. */
function syntaxFault(path: string, error: SyntaxError, files: readonly string[]): RfaError {
  const match = /^(?:file:\/\/)?(\/.+|[A-Za-z]:.+):(\d+)\n/.exec(error.stack ?? '')
  const asModules = files.map(file => ({file, line: faultyLine(file)}))
  const faulty = asModules.find(({line}) => line !== undefined)
  const missing = /does not provide an export named/.test(error.message)
  if (!faulty && !missing) return commonJs(path, error.message)
  const place = faulty ? `${faulty.file}:${faulty.line}` : match && `${match[1]}:${match[2]}`
  const message = `${path}: expected JavaScript that Node can read, got ${error.name}: ${error.message}${place ? ` (${place})` : ''}`
  return new RfaError('BAD_PLUGIN', message, {cause: error})
}

/** The line at which a file is not a module, if there is one. */
function faultyLine(file: string): string | undefined {
  const type = /\.[cm]?ts$/.test(extname(file)) ? 'module-typescript' : 'module'
  const {stderr} = spawnSync(process.execPath, ['--check', `--input-type=${type}`, '-'], {
    input: readFileSync(file),
    encoding: 'utf8',
  })
  return /^\[stdin\]:(\d+)/m.exec(stderr)?.[1]
}

/** Error of a module that is none. @param reason - in what it shows */
export function commonJs(path: string, reason: string): RfaError {
  const stem = basename(path, extname(path))
  const what = 'an ES module, with import and export'
  const remedy = `rename it to ${stem}.mjs, or write "type": "module" into the package.json nearest to it`
  const other = "write import {defineFeatureMap} from 'rfa/attention' and export default"
  return expected('BAD_PLUGIN', path, what, `a CommonJS file (${reason})`, remedy, other)
}
