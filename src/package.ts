import {existsSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'

/** The fields of package.json that the code reads. */
interface PackageFacts {
  root: string
  name: string
  version: string
}

let facts: PackageFacts | undefined

/** Folder of the package: where package.json stands, whether the code runs from src/ or dist/. */
export function packageRoot(): string {
  return packageFacts().root
}

/** Version of the package, as records and manifests name it. */
export function packageVersion(): string {
  return packageFacts().version
}

/** Name of the package: `rfa`, or that of its library by itself. */
export function packageName(): string {
  return packageFacts().name
}

function packageFacts(): PackageFacts {
  facts ??= findPackage(dirname(fileURLToPath(import.meta.url)))
  return facts
}

/** Walks up to the nearest package.json; the package cannot run without one. */
function findPackage(start: string): PackageFacts {
  let root = start
  while (!existsSync(join(root, 'package.json'))) root = dirname(root)
  const {name, version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {root, name, version}
}
