import { sqliteDatabase } from '../../lab/src/test-database.ts';
import { describeFoundingDocuments } from './founding-documents/document-stories.ts';

describeFoundingDocuments('SQLite', async () => sqliteDatabase());
