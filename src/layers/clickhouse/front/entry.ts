import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))

/**
 * Node before 22.18 doesn't run TypeScript, so under vitest, which runs the sources, the front is transpiled once per
 * content below node_modules/.cache, from where `chdb` resolves as it does from here.
 */
const transpiled = async (): Promise<string> => {
  const { default: ts } = await import("typescript")
  const names = (await readdir(here)).filter((name) => name.endsWith(".ts")).sort()
  const sources = await Promise.all(names.map((name) => readFile(join(here, name), "utf8")))
  const hash = createHash("sha256").update(sources.join("\0")).digest("hex").slice(0, 16)
  const cache = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "..", ".cache")
  const target = join(cache, "netops-front", hash)
  const entry = join(target, "main.js")
  if (await readFile(entry).then(() => true, () => false)) return entry
  const fresh = `${target}.${process.pid}`
  await mkdir(fresh, { recursive: true })
  await writeFile(join(fresh, "package.json"), `{"type":"module"}`)
  for (const [index, name] of names.entries()) {
    const { outputText } = ts.transpileModule(sources[index] ?? "", {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        rewriteRelativeImportExtensions: true,
        verbatimModuleSyntax: true
      }
    })
    await writeFile(join(fresh, name.replace(/\.ts$/, ".js")), outputText)
  }
  // Another process may have been quicker, with the same content.
  await rename(fresh, target).catch(() => rm(fresh, { recursive: true, force: true }))
  return entry
}

/** The path of a JavaScript file that Node can run as the front's process. */
export const frontEntry = (): Promise<string> =>
  import.meta.url.endsWith(".ts") ? transpiled() : Promise.resolve(join(here, "main.js"))
