import {execFileSync} from 'node:child_process'
import {cp, mkdir, readdir, readFile, rename, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {
  baselineName,
  baselinesFolder,
  checkSavable,
  saveBaseline,
  savedBaseline,
} from '../../../src/cli/baselines.js'
import {newFolder} from '../../helpers/folders.js'

/** A folder of baselines, and one of a run whose journal has this text. */
async function folders(journal = 'one') {
  const folder = await newFolder()
  const run = join(folder, 'run')
  await mkdir(run)
  await writeFile(join(run, 'manifest.json'), '{}')
  await writeFile(join(run, 'records.jsonl'), journal)
  return {root: join(folder, 'baselines'), run}
}

describe('baselines', () => {
  it('lie below the results, or where the environment says', () => {
    expect(baselinesFolder({})).toBe(join('results', 'baselines'))
    expect(baselinesFolder({RFA_BASELINES: '/x'})).toBe('/x')
  })

  it.each(['main', 'v1.2', 'a+b_c-d', '2026', 'x', 'console', 'x'.repeat(100)])(
    'may be called %s',
    name => {
      expect(baselineName(name, '--baseline')).toBe(name)
    },
  )

  it.each([
    '',
    '..',
    '.hidden',
    'a/b',
    'a\\b',
    'a b',
    '-x',
    'x.',
    'x'.repeat(101),
    '\u001b[2J',
    'CON',
    'nul.txt',
  ])('may not be called %j', name => {
    expect(() => baselineName(name, '--baseline')).toThrow(/--baseline: expected a name/)
  })

  it('are saved, found, and replaced by another of their name', async () => {
    const {root, run} = await folders()
    await checkSavable(root, 'main')
    const folder = await saveBaseline(root, 'main', run)
    expect(await savedBaseline(root, 'main')).toBe(folder)
    await writeFile(join(run, 'records.jsonl'), 'two')
    await checkSavable(root, 'main')
    await saveBaseline(root, 'main', run)
    expect(await readFile(join(folder, 'records.jsonl'), 'utf8')).toBe('two')
    expect(await readdir(root)).toEqual(['main'])
    expect(await readdir(folder)).toEqual(['baseline.json', 'manifest.json', 'records.jsonl'])
  })

  it('come back where a process was killed while it replaced them', async () => {
    const {root, run} = await folders()
    const folder = await saveBaseline(root, 'v1.2', run)
    const aside = join(root, '.v1.2.77-0123abcd.tmp.old')
    await rename(folder, aside)
    expect(await savedBaseline(root, 'v1.2')).toBe(folder)
    await rename(folder, aside)
    await checkSavable(root, 'v1.2')
    expect(await readdir(root)).toEqual(['v1.2'])
    expect(await readFile(join(folder, 'records.jsonl'), 'utf8')).toBe('one')
  })

  it.skipIf(process.platform === 'win32')(
    'are none where a pipe stands for their mark',
    async () => {
      const {root} = await folders()
      await mkdir(join(root, 'main'), {recursive: true})
      execFileSync('mkfifo', [join(root, 'main', 'baseline.json')])
      await expect(savedBaseline(root, 'main')).rejects.toMatchObject({code: 'FILE_MISSING'})
      await expect(checkSavable(root, 'main')).rejects.toMatchObject({code: 'WOULD_OVERWRITE'})
    },
  )

  it('take the place of nothing else', async () => {
    const {root, run} = await folders()
    await mkdir(join(root, 'mine'), {recursive: true})
    await writeFile(join(root, 'mine', 'notes.txt'), 'mine')
    await writeFile(join(root, 'file'), 'mine')
    for (const name of ['mine', 'file']) {
      const refused = expect.objectContaining({code: 'WOULD_OVERWRITE'})
      await expect(checkSavable(root, name)).rejects.toThrow(refused)
      await expect(saveBaseline(root, name, run)).rejects.toThrow(refused)
    }
    expect(await readFile(join(root, 'mine', 'notes.txt'), 'utf8')).toBe('mine')
    await mkdir(join(root, 'empty'))
    expect(await saveBaseline(root, 'empty', run)).toBe(join(root, 'empty'))
  })

  it('keep the old one where the new one cannot be copied', async () => {
    const {root, run} = await folders()
    await saveBaseline(root, 'main', run)
    await expect(saveBaseline(root, 'main', join(run, 'nowhere'))).rejects.toThrow(
      expect.objectContaining({code: 'NOT_WRITABLE'}),
    )
    expect(await readFile(join(root, 'main', 'records.jsonl'), 'utf8')).toBe('one')
    expect(await readdir(root)).toEqual(['main'])
  })

  it('that are missing are told with those that are there', async () => {
    const {root, run} = await folders()
    await expect(savedBaseline(root, 'main')).rejects.toThrow(/of which .* has none, got "main"/)
    await saveBaseline(root, 'main', run)
    const told = {code: 'FILE_MISSING', suggestions: expect.arrayContaining(['did you mean main?'])}
    await expect(savedBaseline(root, 'mian')).rejects.toThrow(expect.objectContaining(told))
    // what a killed process left, which nobody can name
    await cp(join(root, 'main'), join(root, '.main.1-ab.tmp'), {recursive: true})
    await mkdir(join(root, 'folder'))
    await writeFile(join(root, 'folder', 'baseline.json'), 'torn {')
    await expect(savedBaseline(root, 'folder')).rejects.toThrow(/baselines in .*: main, got/)
  })
})
