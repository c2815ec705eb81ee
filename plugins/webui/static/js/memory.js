// The overview of memory: its figures are fetched again when something in memory changed.
import { ready } from "./dom.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./parts.js";

follow({ again: fresh });
ready();
