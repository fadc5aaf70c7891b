import {type ChildProcess, fork, spawnSync} from 'node:child_process'
import {once} from 'node:events'
import {readdir, readFile, writeFile} from 'node:fs/promises'
import {hostname} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, it} from 'vitest'
import {processSpace} from '../../../../src/results/lock/processes.js'
import {newFolder} from '../../../helpers/folders.js'
import {buildRunner, removeBuilt} from '../../../helpers/runner/built.js'

const PROCESSES = 5
const ROUNDS = 10

/** Takes the lock that it is told; told nothing, says whether it still has it and lets go. */
const CONTESTANT = `
import {takeLock} from './results/lock/lock.js'
let lock
process.on('message', async ({take}) => {
  try {
    if (take) lock = await takeLock(take, 5)
    else await lock?.check()
    const held = lock !== undefined
    if (!take) await lock?.release()
    if (!take) lock = undefined
    process.send({held})
  } catch ({code, message}) {
    process.send({held: false, code, message})
  }
})
`

let folder: string
let contestants: ChildProcess[]

beforeAll(async () => {
  folder = await buildRunner()
  const script = join(folder, 'contestant.js')
  await writeFile(script, CONTESTANT)
  contestants = Array.from({length: PROCESSES}, () => fork(script, {execArgv: []}))
  await Promise.all(contestants.map(contestant => once(contestant, 'spawn')))
}, 60_000)

afterAll(async () => {
  for (const contestant of contestants) contestant.kill('SIGKILL')
  await removeBuilt(folder)
})

/** Tells all processes the same at once. @returns their answers */
function tell(message: object): Promise<{held: boolean; code?: string; message?: string}[]> {
  return Promise.all(
    contestants.map(async contestant => {
      const answered = once(contestant, 'message')
      contestant.send(message)
      return (await answered)[0]
    }),
  )
}

it('gives a stale lock to exactly one of several processes, which keeps it', async () => {
  const {pid} = spawnSync(process.execPath, ['-e', '0'])
  const owner = {pid, host: hostname(), space: processSpace(), started: '1'}
  const runs = await newFolder()
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(runs, `${round}.lock`)
    await writeFile(path, JSON.stringify(owner))
    const taken = await tell({take: path})
    const winner = taken.findIndex(({held}) => held)
    const refused = taken.filter((_, index) => index !== winner)
    expect(refused.map(({held, code}) => ({held, code}))).toEqual(
      Array(PROCESSES - 1).fill({held: false, code: 'NOT_WRITABLE'}),
    )
    expect(JSON.parse(await readFile(path, 'utf8')).pid).toBe(contestants[winner]!.pid)
    expect(await readdir(runs)).toEqual([`${round}.lock`])
    expect((await tell({}))[winner]).toEqual({held: true})
    expect(await readdir(runs)).toEqual([])
  }
}, 60_000)
