/** Pipes to a process that is asked and waited for: those of Node cannot be waited for. */
import {spawnSync} from 'node:child_process'
import {closeSync, constants, fstatSync, mkdtempSync, openSync, readSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {errorCode, notWritable} from '../../files.js'

/** Kept of what a process complains of, in bytes; shown of its last line, in characters. */
const [LAST_WORDS, SHOWN_WORDS] = [2000, 300]

const {O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY} = constants

/** Numbers of open files, which have no names any more. */
export interface Pipes {
  /** Written here; does not wait. */
  requests: number
  /** Read here; does not wait. Ends when the process and all that it has started have ended. */
  answers: number
  /** For the process, which waits: requests to read, answers to write. */
  theirs: readonly [number, number]
  /** A file for what it complains of. */
  words: number
}

/** Opens pipes. @throws {NOT_WRITABLE} without a folder for temporary files */
export function openPipes(): Pipes {
  const folder = temporaryFolder()
  try {
    const [requests, answers] = [join(folder, 'requests'), join(folder, 'answers')]
    const made = spawnSync('mkfifo', [requests, answers], {encoding: 'utf8'})
    if (made.status !== 0) {
      const got = made.error?.message ?? made.stderr.trim()
      throw expected('PLUGIN_FAILED', 'Python', 'pipes, made by mkfifo', got)
    }
    const asked = openEnds(requests, {reading: O_RDONLY, writing: O_WRONLY | O_NONBLOCK})
    const answered = openEnds(answers, {reading: O_RDONLY | O_NONBLOCK, writing: O_WRONLY})
    return {
      requests: asked.writing,
      answers: answered.reading,
      theirs: [asked.reading, answered.writing],
      words: openSync(join(folder, 'words'), 'w+'),
    }
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'rfa-python-'))
  } catch (error) {
    throw notWritable(tmpdir(), error, 'a folder for temporary files, which TMPDIR names')
  }
}

/** Both ends of a pipe: none of them waits to be opened while it is open for both. */
function openEnds(path: string, flags: {reading: number; writing: number}) {
  const held = openSync(path, O_RDWR | O_NONBLOCK)
  try {
    return {reading: openSync(path, flags.reading), writing: openSync(path, flags.writing)}
  } finally {
    closeSync(held)
  }
}

/** The last line of what a process complained of; empty where there is none. */
export function lastLine(words: number): string {
  const bytes = Buffer.alloc(LAST_WORDS)
  const from = Math.max(0, fstatSync(words).size - LAST_WORDS)
  const text = bytes.toString('utf8', 0, readSync(words, bytes, 0, LAST_WORDS, from))
  return text.trim().split('\n').at(-1)!.slice(-SHOWN_WORDS)
}

/** Reads what there is; `undefined` where that has to be waited for. */
export function readNow(answers: number, bytes: Buffer, at: number): number | undefined {
  return unlessWaiting(() => readSync(answers, bytes, at, bytes.length - at, null))
}

/** What an act gives; `undefined` where it would have to wait. */
export function unlessWaiting(act: () => number): number | undefined {
  try {
    return act()
  } catch (error) {
    if (errorCode(error) === 'EAGAIN') return undefined
    throw error
  }
}
